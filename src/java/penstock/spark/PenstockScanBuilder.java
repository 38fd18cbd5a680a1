package penstock.spark;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Takes the columns and filters of a query. Spark evaluates every filter again: what is left out is certain. */
final class PenstockScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownFilters {
  private final StructType whole;
  private final CaseInsensitiveStringMap options;
  private StructType wanted;
  private RecordFilters filters = RecordFilters.NONE;

  PenstockScanBuilder(StructType whole, CaseInsensitiveStringMap options) {
    this.whole = whole;
    this.wanted = whole;
    this.options = options;
  }

  @Override
  public void pruneColumns(StructType required) {
    wanted = required;
  }

  @Override
  public Filter[] pushFilters(Filter[] given) {
    filters = RecordFilters.of(given, options.containsKey("valueFormat"));
    return given;
  }

  @Override
  public Filter[] pushedFilters() {
    return filters.taken();
  }

  @Override
  public Scan build() {
    return new PenstockScan(new PushDown(whole, wanted, filters), options);
  }
}
