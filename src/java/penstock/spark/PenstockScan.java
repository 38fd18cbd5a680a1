package penstock.spark;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** One query of topics, as EXPLAIN shows it: what is read, which columns, and the filters that choose the ranges. */
final class PenstockScan extends PythonScan {
  private final PushDown pushed;
  private final Selected selected;

  PenstockScan(PythonSource source, PushDown pushed, Selected selected, CaseInsensitiveStringMap options) {
    super(source, PenstockProvider.NAME, pushed.columns(), options, pushed.filters().taken());
    this.pushed = pushed;
    this.selected = selected;
  }

  @Override
  public String description() {
    String filters = Arrays.stream(pushed.filters().taken()).map(Object::toString).collect(Collectors.joining(", "));
    return selected + " columns [" + String.join(", ", pushed.columns().fieldNames()) + "], pushed filters ["
        + filters + "]";
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    MicroBatchStream python = super.toMicroBatchStream(checkpoint);
    return new PenstockStream(python, (SupportsTriggerAvailableNow) python, selected);
  }
}
