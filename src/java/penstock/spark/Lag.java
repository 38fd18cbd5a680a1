package penstock.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.LongSummaryStatistics;
import java.util.Map;

/** How far a query is behind the newest records, under the names of Spark's Kafka connector. */
public final class Lag {
  private Lag() {}

  /** The metrics of two positions as JSON; none if one of them is not known. */
  public static Map<String, String> metrics(String consumed, String newest) {
    Map<String, Long> done = offsets(consumed);
    Map<String, Long> ends = offsets(newest);
    if (done.isEmpty() || ends.isEmpty()) {
      return Map.of();
    }
    LongSummaryStatistics behind = ends.entrySet().stream()
        .mapToLong(each -> each.getValue() - done.getOrDefault(each.getKey(), 0L)).summaryStatistics();
    return Map.of(
        "minOffsetsBehindLatest", Long.toString(behind.getMin()),
        "maxOffsetsBehindLatest", Long.toString(behind.getMax()),
        "avgOffsetsBehindLatest", Double.toString(behind.getAverage()));
  }

  /** {@code {"topic": {"0": 5}}}, or the same in a field {@code offsets}; empty if it is something else. */
  private static Map<String, Long> offsets(String json) {
    Map<String, Long> found = new HashMap<>();
    if (json == null) {
      return found;
    }
    JsonNode whole;
    try {
      whole = new ObjectMapper().readTree(json);
    } catch (JsonProcessingException notJson) {
      return found;
    }
    JsonNode inner = whole.path("offsets");
    boolean isOurs = inner.isObject() && (inner.isEmpty() || inner.elements().next().isObject());
    (isOurs ? inner : whole).properties().forEach(topic -> topic.getValue().properties().forEach(partition -> {
      if (partition.getKey().matches("\\d+") && partition.getValue().isIntegralNumber()) {
        found.put(topic.getKey() + "-" + partition.getKey(), partition.getValue().asLong());
      }
    }));
    return found;
  }
}
