import ciir.umass.edu.learning.DenseDataPoint;
import ciir.umass.edu.learning.Ranker;
import ciir.umass.edu.learning.RankerFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Scores documents by models that RankLib loads from their text. */
public class Main {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        JsonNode request = mapper.readTree(new File(arguments[0]));
        List<List<Double>> answers = new ArrayList<>();
        for (JsonNode model : request.get("models")) {
            Ranker ranker = new RankerFactory().loadRankerFromString(model.get("text").asText());
            List<Double> scores = new ArrayList<>();
            for (JsonNode document : model.get("documents")) {
                scores.add(ranker.eval(point(document)));
            }
            answers.add(scores);
        }
        mapper.writeValue(new File(arguments[1]), Map.of("scores", answers));
    }

    /** A document with all features, numbered from 1; NaN where they are missing. */
    private static DenseDataPoint point(JsonNode document) {
        float[] values = new float[document.size() + 1];
        for (int column = 0; column < document.size(); column++) {
            JsonNode value = document.get(column);
            values[column + 1] = value.isNull() ? Float.NaN : (float) value.asDouble();
        }
        DenseDataPoint point = new DenseDataPoint("0 qid:1 1:0");
        point.setFeatureVector(values);
        return point;
    }
}
