package penstock.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.sources.AlwaysFalse;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;

/**
 * The filters of a query that speak of topic, partition, offset and time of a record, as JSON: {@code ["and", […], …]},
 * {@code [">=", "offset", 5]}, and {@code ["any"]} for what says nothing of them. Times are in microseconds.
 */
final class RecordFilters {
  static final RecordFilters NONE = new RecordFilters(new Filter[0], false);
  private static final Set<String> COLUMNS = Set.of("topic", "partition", "offset", "timestamp");

  private final Filter[] taken;
  private final boolean isTable;

  private RecordFilters(Filter[] taken, boolean isTable) {
    this.taken = taken;
    this.isTable = isTable;
  }

  /** Those of some filters that can be used. The columns of a table have an underscore before their names. */
  static RecordFilters of(Filter[] given, boolean isTable) {
    RecordFilters all = new RecordFilters(given, isTable);
    List<Filter> useful = new ArrayList<>();
    ObjectMapper json = new ObjectMapper();
    for (Filter filter : given) {
      if (!all.json(json, filter).toString().contains("[\"any\"]")
          || (filter instanceof And && all.says(json, (And) filter))) {
        useful.add(filter);
      }
    }
    return new RecordFilters(useful.toArray(new Filter[0]), isTable);
  }

  private boolean says(ObjectMapper json, And both) {
    ArrayNode any = json.createArrayNode().add("any");
    return !json(json, both.left()).equals(any) || !json(json, both.right()).equals(any);
  }

  Filter[] taken() {
    return taken;
  }

  ArrayNode json(ObjectMapper json) {
    ArrayNode all = json.createArrayNode().add("and");
    for (Filter filter : taken) {
      all.add(json(json, filter));
    }
    return all;
  }

  private ArrayNode json(ObjectMapper json, Filter filter) {
    if (filter instanceof And both) {
      return json.createArrayNode().add("and").add(json(json, both.left())).add(json(json, both.right()));
    }
    if (filter instanceof Or either) {
      return json.createArrayNode().add("or").add(json(json, either.left())).add(json(json, either.right()));
    }
    if (filter instanceof Not not) {
      return json.createArrayNode().add("not").add(json(json, not.child()));
    }
    if (filter instanceof EqualTo each) {
      return leaf(json, "=", each.attribute(), each.value());
    }
    if (filter instanceof EqualNullSafe each) {
      return leaf(json, "=", each.attribute(), each.value());
    }
    if (filter instanceof LessThan each) {
      return leaf(json, "<", each.attribute(), each.value());
    }
    if (filter instanceof LessThanOrEqual each) {
      return leaf(json, "<=", each.attribute(), each.value());
    }
    if (filter instanceof GreaterThan each) {
      return leaf(json, ">", each.attribute(), each.value());
    }
    if (filter instanceof GreaterThanOrEqual each) {
      return leaf(json, ">=", each.attribute(), each.value());
    }
    if (filter instanceof In each) {
      return leaf(json, "in", each.attribute(), each.values());
    }
    return json.createArrayNode().add(filter instanceof AlwaysFalse ? "none" : "any");
  }

  private ArrayNode leaf(ObjectMapper json, String sign, String attribute, Object... values) {
    String column = attribute.replace("`", "");
    if (isTable) {
      column = column.startsWith("_") ? column.substring(1) : "";
    }
    ArrayNode found = json.createArrayNode();
    for (Object value : values) {
      if (value instanceof Timestamp time) {
        value = micros(time.toInstant());
      } else if (value instanceof Instant time) {
        value = micros(time);
      }
      if (value instanceof Integer || value instanceof Long) {
        found.add(((Number) value).longValue());
      } else if (value instanceof String text) {
        found.add(text);
      } else if (value != null || !sign.equals("in")) { // null in a list matches nothing
        return json.createArrayNode().add("any");
      }
    }
    if (!COLUMNS.contains(column)) {
      return json.createArrayNode().add("any");
    }
    ArrayNode leaf = json.createArrayNode().add(sign).add(column);
    return sign.equals("in") ? leaf.add(found) : leaf.add(found.get(0));
  }

  private static long micros(Instant time) {
    return Math.addExact(Math.multiplyExact(time.getEpochSecond(), 1_000_000L), time.getNano() / 1000);
  }
}
