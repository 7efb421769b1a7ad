import ai.vespa.modelintegration.evaluator.OnnxRuntime;
import ai.vespa.models.evaluation.Model;
import ai.vespa.rankingexpression.importer.lightgbm.LightGBMImporter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yahoo.component.ComponentId;
import com.yahoo.component.provider.ComponentRegistry;
import com.yahoo.config.FileReference;
import com.yahoo.config.application.api.FileRegistry;
import com.yahoo.config.model.application.provider.FilesApplicationPackage;
import com.yahoo.config.model.deploy.DeployState;
import com.yahoo.config.model.deploy.TestProperties;
import com.yahoo.data.access.helpers.MatchFeatureData;
import com.yahoo.filedistribution.fileacquirer.FileAcquirer;
import com.yahoo.search.Query;
import com.yahoo.search.Result;
import com.yahoo.search.ranking.GlobalPhaseRanker;
import com.yahoo.search.ranking.RankProfilesEvaluator;
import com.yahoo.search.ranking.RankProfilesEvaluatorFactory;
import com.yahoo.search.rendering.JsonRenderer;
import com.yahoo.search.result.FeatureData;
import com.yahoo.search.result.Hit;
import com.yahoo.search.searchchain.Execution;
import com.yahoo.tensor.Tensor;
import com.yahoo.vespa.config.search.RankProfilesConfig;
import com.yahoo.vespa.config.search.core.OnnxModelsConfig;
import com.yahoo.vespa.config.search.core.RankingConstantsConfig;
import com.yahoo.vespa.config.search.core.RankingExpressionsConfig;
import com.yahoo.vespa.model.VespaModel;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Ranks lists of documents with Vespa's published Java code.
 *
 * The application package is compiled as `vespa deploy` does. What a content node computes (the
 * first phase and the match features) is evaluated by the container's evaluator of rank profiles,
 * because content nodes are C++ that is not published as artefacts. The global phase is Vespa's.
 */
public class Main {

    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        JsonNode request = JSON.readTree(new File(arguments[0]));
        ObjectNode response = JSON.createObjectNode();
        ArrayNode scores = response.putArray("scores");
        for (JsonNode application : request.get("applications")) {
            Path folder = Files.createTempDirectory("vespa");
            try {
                new Main(application, folder).rank(scores.addArray(), response);
            } finally {
                delete(folder);
            }
        }
        JSON.writeValue(new File(arguments[1]), response);
        System.exit(0);
    }

    private final JsonNode application;
    private final String schema, profile;
    private final Model model;
    private final List<String> matchFeatures = new ArrayList<>();
    private final Map<String, String> shownNames = new HashMap<>();
    private boolean hasGlobalPhase = false;
    private final GlobalPhaseRanker globalPhase;

    private Main(JsonNode application, Path folder) throws Exception {
        this.application = application;
        schema = application.get("schema").asText();
        profile = application.get("profile").asText();
        var files = application.get("files").fields();
        while (files.hasNext()) {
            var file = files.next();
            Path path = folder.resolve("application").resolve(file.getKey());
            Files.createDirectories(path.getParent());
            Files.writeString(path, file.getValue().asText());
        }
        Blobs blobs = new Blobs(folder);
        var state = new DeployState.Builder()
            .applicationPackage(
                FilesApplicationPackage.fromDir(folder.resolve("application").toFile(), Map.of()))
            .properties(new TestProperties())
            .fileRegistry(blobs)
            .modelImporters(List.of(new LightGBMImporter()))
            .build();
        VespaModel deployed = new VespaModel(state);
        // Containers get the profiles that have a global phase; content nodes get all of them.
        String id = "default/component/ranking-expression-evaluator." + schema;
        if (deployed.getConfig(RankProfilesConfig.class, id).rankprofile().isEmpty()) {
            id = "content/search/cluster.content/" + schema;
        }
        RankProfilesConfig profiles = deployed.getConfig(RankProfilesConfig.class, id);
        var evaluator = new RankProfilesEvaluator(
            profiles,
            deployed.getConfig(RankingConstantsConfig.class, id),
            deployed.getConfig(RankingExpressionsConfig.class, id),
            deployed.getConfig(OnnxModelsConfig.class, id),
            blobs,
            (OnnxRuntime) (path, options) -> { throw new IllegalStateException(path); });
        model = evaluator.modelForRankProfile(profile);
        var registry = new ComponentRegistry<RankProfilesEvaluator>();
        registry.register(new ComponentId("ranking-expression-evaluator." + schema), evaluator);
        globalPhase = new GlobalPhaseRanker(new RankProfilesEvaluatorFactory(registry));
        readProperties(profiles);
    }

    private void readProperties(RankProfilesConfig profiles) {
        String renamed = null;
        for (var candidate : profiles.rankprofile()) {
            if (!candidate.name().equals(profile)) continue;
            for (var property : candidate.fef().property()) {
                switch (property.name()) {
                    case "vespa.match.feature" -> matchFeatures.add(property.value());
                    case "vespa.rank.globalphase" -> hasGlobalPhase = true;
                    case "vespa.feature.rename" -> {
                        if (renamed == null) {
                            renamed = property.value();
                        } else {
                            shownNames.put(renamed, property.value());
                            renamed = null;
                        }
                    }
                    default -> { }
                }
            }
        }
    }

    private void rank(ArrayNode scores, ObjectNode response) throws Exception {
        for (JsonNode list : application.get("lists")) {
            Result result = result(list);
            if (hasGlobalPhase) globalPhase.rerankHits(result.getQuery(), result, schema);
            double[] row = new double[list.get("documents").size()];
            for (Hit hit : result.hits().asList()) {
                row[Integer.parseInt(hit.getId().stringValue())] = hit.getRelevance().getScore();
            }
            ArrayNode written = scores.addArray();
            for (double score : row) written.add(score);
            if (!response.has("result")) response.put("result", json(result));
        }
    }

    /** What the content nodes would return: hits with the first phase's score and match features. */
    private Result result(JsonNode list) {
        Query query = new Query();
        query.getRanking().setProfile(profile);
        Map<String, Double> values = new HashMap<>();
        list.path("inputs").fields().forEachRemaining(entry -> {
            values.put(entry.getKey(), entry.getValue().asDouble());
            query.getRanking().getFeatures().put(entry.getKey(), entry.getValue().asDouble());
        });
        Result result = new Result(query);
        List<String> names = new ArrayList<>();
        for (String name : matchFeatures) names.add(shownNames.getOrDefault(name, name));
        MatchFeatureData data = new MatchFeatureData(names);
        int number = 0;
        for (JsonNode document : list.get("documents")) {
            Map<String, Double> known = new HashMap<>(values);
            document.fields().forEachRemaining(entry -> known.put(
                entry.getKey(),
                entry.getValue().isNull() ? Double.NaN : entry.getValue().asDouble()));
            // Vespa's order of the hits before the global phase; an order that means nothing.
            double relevance = hasGlobalPhase ? (number * 7919 + 13) % 101 : value("firstphase", known);
            Hit hit = new Hit(Integer.toString(number++), relevance);
            var features = data.addHit();
            for (int i = 0; i < matchFeatures.size(); i++) {
                features.set(i, value(names.get(i), known));
            }
            if (!matchFeatures.isEmpty()) hit.setField("matchfeatures", new FeatureData(features));
            result.hits().add(hit);
        }
        result.setTotalHitCount(number);
        return result;
    }

    private double value(String function, Map<String, Double> known) {
        if (known.containsKey(function)) return known.get(function);
        var evaluator = model.evaluatorOf(function);
        for (String argument : evaluator.function().arguments()) {
            if (!known.containsKey(argument)) {
                throw new IllegalStateException(function + " asks for " + argument);
            }
            evaluator.bind(argument, Tensor.from(known.get(argument)));
        }
        return evaluator.evaluate().asDouble();
    }

    private static String json(Result result) throws Exception {
        JsonRenderer renderer = new JsonRenderer(Runnable::run);
        renderer.init();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        var execution = new Execution(Execution.Context.createContextStub());
        renderer.renderResponse(out, result, execution, null).get(30, TimeUnit.SECONDS);
        return out.toString(StandardCharsets.UTF_8);
    }

    private static void delete(Path folder) throws IOException {
        try (var paths = Files.walk(folder)) {
            paths.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }

    /** Vespa hands long expressions to its nodes as files. */
    private record Blobs(Path folder) implements FileRegistry, FileAcquirer {

        @Override public FileReference addFile(String path) { return new FileReference(path); }

        @Override public FileReference addUri(String uri) { return new FileReference(uri); }

        @Override public FileReference addBlob(String name, ByteBuffer blob) {
            byte[] bytes = new byte[blob.remaining()];
            blob.duplicate().get(bytes);
            try {
                // Readers take the contents for compressed where the name says so.
                String plain = name.replace('/', '-').replaceFirst("[.]lz4$", "");
                Path path = folder.resolve("blob-" + plain);
                Files.write(path, bytes);
                return new FileReference(path.toString());
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override public List<Entry> export() { return List.of(); }

        @Override public File waitFor(FileReference reference, long time, TimeUnit unit) {
            return new File(reference.value());
        }

        @Override public void shutdown() { }
    }
}
