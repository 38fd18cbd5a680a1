package penstock.spark;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Topics as a table. Its text is what Spark's progress reports call the sink. */
final class PenstockTable implements SupportsRead, SupportsWrite {
  private final StructType schema;
  private final Map<String, String> properties;
  private final boolean takesBatches;

  PenstockTable(StructType schema, Map<String, String> properties, boolean takesBatches) {
    this.schema = schema;
    this.properties = properties;
    this.takesBatches = takesBatches;
  }

  @Override
  public String name() {
    return PenstockProvider.NAME;
  }

  /** As the table of Spark's own Python sources has it, though there is a newer way. */
  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    Set<TableCapability> all = EnumSet.of(
        TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ, TableCapability.STREAMING_WRITE,
        TableCapability.TRUNCATE, TableCapability.ACCEPT_ANY_SCHEMA);
    if (takesBatches) {
      all.add(TableCapability.BATCH_WRITE);
    }
    return all;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new PenstockScanBuilder(schema, options);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new PenstockWriteBuilder(info);
  }

  @Override
  public String toString() {
    String topic = new CaseInsensitiveStringMap(properties).get("topic");
    return PenstockProvider.NAME + "[" + (topic == null ? "column topic" : topic) + "]";
  }
}
