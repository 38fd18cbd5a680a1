package penstock.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The sink of batch writes, which {@link PenstockProvider} names by its class once the mode is checked.
 *
 * <p>Spark demands {@code mode("append")} of a table that takes batches; so the one that users name does not.
 */
public final class BatchSink implements TableProvider {
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException("this is a sink: read with format(\"penstock\")");
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new PenstockTable(schema, properties, true);
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
