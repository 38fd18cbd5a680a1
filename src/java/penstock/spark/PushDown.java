package penstock.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns and filters of one scan, and how Python is told of them. */
final class PushDown {
  /** The remark on the first column, which {@code penstock_spark.reading.pushed} reads. */
  static final String REMARK = "penstock.pushed";

  /** Columns that cost least, for a query that wants rows and no column of them. */
  private static final List<String> CHEAP =
      List.of("partition", "offset", "topic", "_partition", "_offset", "_topic", "timestamp", "_timestamp");

  private final StructType whole;
  private final StructType wanted;
  private final RecordFilters filters;

  PushDown(StructType whole, StructType required, RecordFilters filters) {
    this.whole = whole;
    this.filters = filters;
    this.wanted = required.isEmpty() ? new StructType(new StructField[] {cheapest(whole)}) : required;
  }

  private static StructField cheapest(StructType schema) {
    List<String> names = Arrays.asList(schema.fieldNames());
    String name = CHEAP.stream().filter(names::contains).findFirst().orElse(names.get(0));
    return schema.fields()[names.indexOf(name)];
  }

  StructType columns() {
    return wanted;
  }

  RecordFilters filters() {
    return filters;
  }

  StructType markedSchema() {
    ObjectMapper json = new ObjectMapper();
    ObjectNode remark = json.createObjectNode();
    remark.put("schema", whole.json());
    remark.set("filters", filters.json(json));
    StructField[] fields = wanted.fields().clone();
    StructField first = fields[0];
    fields[0] = new StructField(
        first.name(), first.dataType(), first.nullable(),
        new MetadataBuilder().withMetadata(first.metadata()).putString(REMARK, remark.toString()).build());
    return new StructType(fields);
  }
}
