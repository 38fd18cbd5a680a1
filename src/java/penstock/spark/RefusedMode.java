package penstock.spark;

import java.util.Locale;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SaveMode;
import scala.Option;

/** A mode of writing that a topic cannot have: what is in it stays. */
final class RefusedMode extends AnalysisException {
  private static final long serialVersionUID = 1L;

  RefusedMode(SaveMode mode) {
    super(
        "a topic is only ever appended to: mode(\"append\") or no mode, not " + mode.name().toLowerCase(Locale.ROOT),
        Option.empty(), Option.empty(), Option.empty(), Option.empty(),
        scala.collection.immutable.Map$.MODULE$.empty(), new QueryContext[0]);
  }
}
