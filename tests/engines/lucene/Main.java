import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Documents and scores by BM25 of each query, the highest first. */
public class Main {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        JsonNode request = mapper.readTree(new File(arguments[0]));
        BM25Similarity similarity =
                new BM25Similarity((float) request.get("k1").asDouble(), (float) request.get("b").asDouble());
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer()).setSimilarity(similarity);
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            for (JsonNode text : request.get("documents")) {
                Document document = new Document();
                document.add(new TextField("text", text.asText(), Field.Store.NO));
                writer.addDocument(document);
            }
            writer.forceMerge(1);
        }
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(directory));
        searcher.setSimilarity(similarity);
        List<Object> answers = new ArrayList<>();
        for (JsonNode query : request.get("queries")) {
            BooleanQuery.Builder builder = new BooleanQuery.Builder();
            for (JsonNode term : query) {
                builder.add(new TermQuery(new Term("text", term.asText())), BooleanClause.Occur.SHOULD);
            }
            List<Integer> documents = new ArrayList<>();
            List<Float> scores = new ArrayList<>();
            for (ScoreDoc hit : searcher.search(builder.build(), request.get("depth").asInt()).scoreDocs) {
                documents.add(hit.doc);
                scores.add(hit.score);
            }
            answers.add(Map.of("documents", documents, "scores", scores));
        }
        mapper.writeValue(new File(arguments[1]), Map.of("queries", answers));
    }
}
