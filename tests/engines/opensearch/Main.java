import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.opensearch.action.bulk.BulkRequestBuilder;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.support.WriteRequest;
import org.opensearch.client.Client;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.xcontent.XContentType;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;
import org.opensearch.search.SearchHit;
import org.opensearch.transport.Netty4Plugin;

/**
 * Starts a node of OpenSearch, indexes documents with their features as fields, and asks for the
 * score of each feature's query, as the learning-to-rank plugin does.
 */
public class Main {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        JsonNode request = MAPPER.readTree(new File(arguments[0]));
        Path home = Files.createTempDirectory("opensearch");
        Settings settings =
                Settings.builder()
                        .put("path.home", home)
                        .put("cluster.name", "localrank")
                        .put("node.name", "only")
                        .put("discovery.type", "single-node")
                        .put("transport.type", "netty4")
                        .put("http.type", "netty4")
                        .put("http.port", "0")
                        .put("transport.port", "0")
                        .put("network.host", "127.0.0.1")
                        .put("node.processors", 1)
                        .put("cluster.routing.allocation.disk.threshold_enabled", false)
                        .build();
        try (OnlyNode node = new OnlyNode(settings, List.of(Netty4Plugin.class))) {
            node.start();
            List<Object> answers = new ArrayList<>();
            int number = 0;
            for (JsonNode each : request.get("models")) {
                answers.add(values(node.client(), "documents" + number++, each));
            }
            MAPPER.writeValue(new File(arguments[1]), Map.of("values", answers));
        }
        try (Stream<Path> paths = Files.walk(home)) {
            paths.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
        System.exit(0);
    }

    /** A row for each document, with null where a feature's query does not match it. */
    private static Object values(Client client, String index, JsonNode model) throws Exception {
        JsonNode features = model.get("features");
        JsonNode documents = model.get("documents");
        index(client, index, features, documents);
        Double[][] values = new Double[documents.size()][features.size()];
        for (int column = 0; column < features.size(); column++) {
            String query = features.get(column).get("template").toString();
            SearchResponse response;
            try {
                response =
                        client.prepareSearch(index)
                                .setQuery(QueryBuilders.wrapperQuery(query))
                                .setSize(documents.size())
                                .get();
            } catch (Exception refused) {
                return Map.of("error", chain(refused));
            }
            for (SearchHit hit : response.getHits()) {
                values[Integer.parseInt(hit.getId())][column] = (double) hit.getScore();
            }
        }
        return values;
    }

    private static void index(Client client, String index, JsonNode features, JsonNode documents)
            throws Exception {
        ObjectNode fields = MAPPER.createObjectNode();
        for (JsonNode feature : features) {
            fields.putObject(feature.get("name").asText()).put("type", "float");
        }
        ObjectNode mapping = MAPPER.createObjectNode();
        mapping.set("properties", fields);
        client.admin()
                .indices()
                .prepareCreate(index)
                .setSettings(Settings.builder().put("number_of_shards", 1).put("number_of_replicas", 0))
                .setMapping(mapping.toString())
                .get();
        BulkRequestBuilder bulk =
                client.prepareBulk().setRefreshPolicy(WriteRequest.RefreshPolicy.IMMEDIATE);
        for (int row = 0; row < documents.size(); row++) {
            ObjectNode source = MAPPER.createObjectNode();
            for (int column = 0; column < features.size(); column++) {
                JsonNode value = documents.get(row).get(column);
                if (!value.isNull()) {
                    source.put(features.get(column).get("name").asText(), value.asDouble());
                }
            }
            bulk.add(
                    client.prepareIndex(index)
                            .setId(Integer.toString(row))
                            .setSource(source.toString(), XContentType.JSON));
        }
        if (bulk.get().hasFailures()) {
            throw new IllegalStateException("documents were refused");
        }
    }

    private static String chain(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            text.append(each.getMessage()).append('\n');
        }
        return text.toString();
    }

    private static class OnlyNode extends Node {
        OnlyNode(Settings settings, Collection<Class<? extends Plugin>> plugins) {
            super(
                    InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "only"),
                    plugins,
                    true);
        }
    }
}
