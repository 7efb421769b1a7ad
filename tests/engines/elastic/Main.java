import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.xcontent.LoggingDeprecationHandler;
import org.elasticsearch.search.SearchModule;
import org.elasticsearch.xcontent.NamedXContentRegistry;
import org.elasticsearch.xcontent.XContentBuilder;
import org.elasticsearch.xcontent.XContentParser;
import org.elasticsearch.xcontent.XContentParserConfiguration;
import org.elasticsearch.xcontent.json.JsonXContent;
import org.elasticsearch.xpack.core.ml.inference.MlInferenceNamedXContentProvider;
import org.elasticsearch.xpack.core.ml.inference.TrainedModelConfig;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.LearningToRankConfig;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.StrictlyParsedInferenceConfig;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.inference.InferenceDefinition;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.ltr.LearningToRankFeatureExtractorBuilder;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.ltr.QueryExtractorBuilder;

/**
 * Reads bodies of PUT _ml/trained_models as Elasticsearch does, strictly and with its checks, and
 * scores documents by them as its rescorer does.
 */
public class Main {
    private static final XContentParserConfiguration CONFIGURATION = configuration();

    public static void main(String[] arguments) throws Exception {
        List<List<Double>> answers = new ArrayList<>();
        Map<String, Object> request = map(Files.readString(Path.of(arguments[0])));
        for (Object each : (List<?>) request.get("models")) {
            Map<?, ?> model = (Map<?, ?>) each;
            answers.add(scores((String) model.get("body"), (List<?>) model.get("documents")));
        }
        try (OutputStream output = Files.newOutputStream(Path.of(arguments[1]));
                XContentBuilder builder = new XContentBuilder(JsonXContent.jsonXContent, output)) {
            builder.map(Map.of("scores", answers));
        }
    }

    private static List<Double> scores(String body, List<?> documents) throws Exception {
        TrainedModelConfig stored;
        try (XContentParser parser = parser(body)) {
            stored =
                    TrainedModelConfig.STRICT_PARSER
                            .apply(parser, null)
                            .setModelId("localrank")
                            .validate(true)
                            .build();
        }
        stored.ensureParsedDefinition(CONFIGURATION.registry());
        stored.getModelDefinition().getTrainedModel().validate();
        LearningToRankConfig config = (LearningToRankConfig) stored.getInferenceConfig();
        List<String> names = new ArrayList<>();
        config.getQueryFeatureExtractorBuilders()
                .forEach(
                        extractor -> {
                            try {
                                extractor.validate();
                            } catch (Exception error) {
                                throw new IllegalStateException(error);
                            }
                            names.add(extractor.featureName());
                        });
        InferenceDefinition definition = definition(body);
        List<Double> scores = new ArrayList<>();
        for (Object document : documents) {
            Map<String, Object> fields = new HashMap<>();
            for (int column = 0; column < names.size(); column++) {
                Object value = ((List<?>) document).get(column);
                if (value != null) {
                    fields.put(names.get(column), ((Number) value).floatValue());
                }
            }
            Number score = (Number) definition.infer(fields, config).predictedValue();
            scores.add((double) score.floatValue());
        }
        return scores;
    }

    /** The definition as the node that ranks reads it from its index. */
    private static InferenceDefinition definition(String body) throws Exception {
        XContentBuilder builder = JsonXContent.contentBuilder();
        builder.value(map(body).get("definition"));
        try (XContentParser parser = parser(org.elasticsearch.common.Strings.toString(builder))) {
            return InferenceDefinition.fromXContent(parser);
        }
    }

    private static Map<String, Object> map(String text) throws Exception {
        try (XContentParser parser = parser(text)) {
            return parser.map();
        }
    }

    private static XContentParser parser(String text) throws Exception {
        return JsonXContent.jsonXContent.createParser(
                CONFIGURATION, text.getBytes(StandardCharsets.UTF_8));
    }

    private static XContentParserConfiguration configuration() {
        List<NamedXContentRegistry.Entry> entries =
                new ArrayList<>(new SearchModule(Settings.EMPTY, List.of()).getNamedXContents());
        entries.addAll(new MlInferenceNamedXContentProvider().getNamedXContentParsers());
        // The server registers these two in a module that is not published.
        entries.add(
                new NamedXContentRegistry.Entry(
                        StrictlyParsedInferenceConfig.class,
                        LearningToRankConfig.NAME,
                        LearningToRankConfig::fromXContentStrict));
        entries.add(
                new NamedXContentRegistry.Entry(
                        LearningToRankFeatureExtractorBuilder.class,
                        QueryExtractorBuilder.NAME,
                        QueryExtractorBuilder::fromXContent));
        return XContentParserConfiguration.EMPTY
                .withRegistry(new NamedXContentRegistry(entries))
                .withDeprecationHandler(LoggingDeprecationHandler.INSTANCE);
    }
}
