package penstock.spark;

import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriteBuilder;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/** The sink in Python, which takes the rows of update mode, too: each changed row is one more record. */
final class PenstockWriteBuilder implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
  private final PythonWriteBuilder inner;

  PenstockWriteBuilder(PythonWriteBuilder inner) {
    this.inner = inner;
  }

  @Override
  public WriteBuilder truncate() {
    inner.truncate();
    return this;
  }

  @Override
  public Write build() {
    return inner.build();
  }
}
