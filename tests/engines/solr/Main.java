import java.io.Reader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.io.FileUtils;
import org.apache.solr.client.solrj.SolrRequest;
import org.apache.solr.client.solrj.embedded.EmbeddedSolrServer;
import org.apache.solr.client.solrj.request.GenericSolrRequest;
import org.apache.solr.client.solrj.request.RequestWriter;
import org.apache.solr.common.SolrDocument;
import org.apache.solr.common.SolrInputDocument;
import org.apache.solr.common.params.ModifiableSolrParams;
import org.apache.solr.common.util.Utils;
import org.apache.solr.core.CoreContainer;
import org.apache.solr.core.SolrCore;
import org.apache.solr.request.LocalSolrQueryRequest;
import org.apache.solr.request.SolrQueryRequest;
import org.apache.solr.request.SolrRequestInfo;
import org.apache.solr.response.SolrQueryResponse;

/**
 * Ranks lists of documents in an embedded Solr, one core for each case.
 *
 * <p>Request: {"cases": [{"name": of the model, "schema", "features", "model": the exported files
 * as texts, "fields": names, "lists": [[[value by field, or null]]], "logged": how many documents of
 * the first list}]}. Response: {"version", "cases": [{"lists": [[[row, score]] as Solr ranks them],
 * "dense", "sparse": responses with features, as texts}]}.
 */
public class Main {
  public static void main(String[] arguments) throws Exception {
    Map<String, Object> request;
    try (Reader reader = Files.newBufferedReader(Path.of(arguments[0]))) {
      request = object(Utils.fromJSON(reader));
    }
    List<Object> cases = list(request.get("cases"));
    Path home = Files.createTempDirectory("solr");
    Files.writeString(home.resolve("solr.xml"), "<solr/>");
    for (int number = 0; number < cases.size(); number++) {
      layOut(home.resolve(core(number)));
    }
    CoreContainer container = CoreContainer.createAndLoad(home);
    int status = 1;
    try {
      EmbeddedSolrServer solr = new EmbeddedSolrServer(container, core(0));
      List<Object> answers = new ArrayList<>();
      for (int number = 0; number < cases.size(); number++) {
        answers.add(ranked(solr, core(number), object(cases.get(number))));
      }
      String version = SolrCore.class.getPackage().getImplementationVersion().split(" ")[0];
      Map<String, Object> response = Map.of("version", version, "cases", answers);
      Files.writeString(Path.of(arguments[1]), Utils.toJSONString(response));
      status = 0;
    } catch (Throwable problem) {
      problem.printStackTrace();
    } finally {
      container.shutdown();
      FileUtils.deleteDirectory(home.toFile());
    }
    // Solr leaves threads behind that keep the machine alive.
    System.exit(status);
  }

  private static Map<String, Object> ranked(
      EmbeddedSolrServer solr, String core, Map<String, Object> given) throws Exception {
    upload(solr, core, SolrRequest.METHOD.POST, "/schema", given.get("schema"));
    upload(solr, core, SolrRequest.METHOD.PUT, "/schema/feature-store", given.get("features"));
    upload(solr, core, SolrRequest.METHOD.PUT, "/schema/model-store", given.get("model"));
    List<Object> lists = list(given.get("lists"));
    for (int number = 0; number < lists.size(); number++) {
      solr.add(core, documents(number, list(lists.get(number)), list(given.get("fields"))));
    }
    solr.commit(core);
    Map<String, Object> answer = new LinkedHashMap<>();
    List<Object> rankings = new ArrayList<>();
    for (int number = 0; number < lists.size(); number++) {
      int size = list(lists.get(number)).size();
      List<Object> ranking = new ArrayList<>();
      ModifiableSolrParams parameters = parameters(given, number, size, "row,score");
      for (SolrDocument document : solr.query(core, parameters).getResults()) {
        ranking.add(List.of(document.getFieldValue("row"), document.getFieldValue("score")));
      }
      rankings.add(ranking);
    }
    answer.put("lists", rankings);
    int logged = ((Number) given.get("logged")).intValue();
    if (logged > 0) {
      for (String format : List.of("dense", "sparse")) {
        String log = "[features store=" + given.get("name") + "_fields format=" + format + "]";
        ModifiableSolrParams parameters = parameters(given, 0, logged, "id,score," + log);
        answer.put(format, json(solr.getCoreContainer(), core, parameters));
      }
    }
    return answer;
  }

  private static List<SolrInputDocument> documents(
      int number, List<Object> rows, List<Object> fields) {
    List<SolrInputDocument> documents = new ArrayList<>();
    for (int row = 0; row < rows.size(); row++) {
      SolrInputDocument document = new SolrInputDocument();
      document.setField("id", number + "-" + row);
      document.setField("list", number);
      document.setField("row", row);
      List<Object> values = list(rows.get(row));
      for (int column = 0; column < values.size(); column++) {
        if (values.get(column) != null) {
          float value = ((Number) values.get(column)).floatValue();
          document.setField((String) fields.get(column), value);
        }
      }
      documents.add(document);
    }
    return documents;
  }

  private static ModifiableSolrParams parameters(
      Map<String, Object> given, int list, int rows, String fields) {
    ModifiableSolrParams parameters = new ModifiableSolrParams();
    parameters.set("q", "list:" + list);
    parameters.set("rows", rows);
    parameters.set("fl", fields);
    // All documents of the list: the largest has fewer.
    parameters.set("rq", "{!ltr model=" + given.get("name") + " reRankDocs=100000}");
    return parameters;
  }

  /** The response as Solr writes it for the network. */
  private static String json(CoreContainer container, String name, ModifiableSolrParams parameters)
      throws Exception {
    parameters.set("echoParams", "explicit");
    try (SolrCore core = container.getCore(name);
        SolrQueryRequest request = new LocalSolrQueryRequest(core, parameters)) {
      SolrQueryResponse response = new SolrQueryResponse();
      SolrRequestInfo.setRequestInfo(new SolrRequestInfo(request, response));
      try {
        core.execute(core.getRequestHandler("/select"), request, response);
        StringWriter text = new StringWriter();
        core.getQueryResponseWriter("json").write(text, request, response);
        return text.toString();
      } finally {
        SolrRequestInfo.clearRequestInfo();
      }
    }
  }

  private static void upload(
      EmbeddedSolrServer solr, String core, SolrRequest.METHOD method, String path, Object body)
      throws Exception {
    GenericSolrRequest request = new GenericSolrRequest(method, path, new ModifiableSolrParams());
    request.setContentWriter(
        new RequestWriter.StringPayloadContentWriter((String) body, "application/json"));
    Object problem = solr.request(request, core).get("error");
    if (problem != null) {
      throw new IllegalStateException(path + ": " + problem);
    }
  }

  private static void layOut(Path core) throws Exception {
    Path settings = Files.createDirectories(core.resolve("conf"));
    Files.writeString(core.resolve("core.properties"), "name=" + core.getFileName() + "\n");
    Files.writeString(
        settings.resolve("solrconfig.xml"),
        "<config>"
            + "<luceneMatchVersion>8.11.4</luceneMatchVersion>"
            + "<schemaFactory class='ManagedIndexSchemaFactory'>"
            + "<bool name='mutable'>true</bool></schemaFactory>"
            + "<requestHandler name='/select' class='solr.SearchHandler'/>"
            + "<queryParser name='ltr' class='org.apache.solr.ltr.search.LTRQParserPlugin'/>"
            + "<query><cache name='QUERY_DOC_FV' class='solr.search.CaffeineCache' size='4096'"
            + " regenerator='solr.search.NoOpRegenerator'/></query>"
            + "<transformer name='features' class="
            + "'org.apache.solr.ltr.response.transform.LTRFeatureLoggerTransformerFactory'>"
            + "<str name='fvCacheName'>QUERY_DOC_FV</str></transformer>"
            + "</config>");
    Files.writeString(
        settings.resolve("managed-schema"),
        "<schema name='documents' version='1.6'>"
            + "<fieldType name='string' class='solr.StrField'/>"
            + "<fieldType name='pint' class='solr.IntPointField' docValues='true'/>"
            + "<fieldType name='pfloat' class='solr.FloatPointField' docValues='true'/>"
            + "<field name='id' type='string' indexed='true' stored='true' required='true'/>"
            + "<field name='list' type='pint' indexed='true' stored='false'/>"
            + "<field name='row' type='pint' indexed='false' stored='true'/>"
            + "<uniqueKey>id</uniqueKey>"
            + "</schema>");
  }

  private static String core(int number) {
    return "case" + number;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Object json) {
    return (Map<String, Object>) json;
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object json) {
    return (List<Object>) json;
  }
}
