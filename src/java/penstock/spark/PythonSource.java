package penstock.spark;

import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * The source in Python, as one scan sees it.
 *
 * <p>Spark's own class keeps the plan of its first scan for all that follow, with the filters of that scan. This one is
 * made anew for each ({@link #forScan}), while the Python object itself is made once for a table.
 */
final class PythonSource extends PythonDataSourceV2 {
  private final CaseInsensitiveStringMap options;
  private final PythonDataSourceCreationResult made;
  private final PushDown pushed;
  private PythonDataSourceReadInfo plan;

  private PythonSource(CaseInsensitiveStringMap options, PythonDataSourceCreationResult made, PushDown pushed) {
    this.options = options;
    this.made = made;
    this.pushed = pushed;
    setShortName(PenstockProvider.NAME);
  }

  /** The source of these options; without a schema it says itself which it has. */
  static PythonSource of(CaseInsensitiveStringMap options, StructType schema) {
    PythonDataSourceV2 python = new PythonDataSourceV2();
    python.setShortName(PenstockProvider.NAME);
    return new PythonSource(
        options, python.getOrCreateDataSourceInPython(PenstockProvider.NAME, options, Option.apply(schema)), null);
  }

  boolean isOf(CaseInsensitiveStringMap others) {
    return options.equals(others);
  }

  StructType schema() {
    return made.schema();
  }

  PythonSource forScan(PushDown scanned) {
    return new PythonSource(options, made, scanned);
  }

  @Override
  public PythonDataSourceCreationResult getOrCreateDataSourceInPython(
      String shortName, CaseInsensitiveStringMap given, Option<StructType> schema) {
    return made;
  }

  /** The ranges of a scan: Python is told what was pushed down by a remark in the schema. */
  @Override
  public synchronized PythonDataSourceReadInfo getOrCreateReadInfo(
      String shortName, CaseInsensitiveStringMap given, StructType schema, boolean isStreaming) {
    if (plan == null) {
      plan = source().createReadInfoInPython(made, isStreaming ? schema : pushed.markedSchema(), isStreaming);
    }
    return plan;
  }
}
