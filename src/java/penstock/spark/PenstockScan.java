package penstock.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** One query of topics, as EXPLAIN shows it: what is read, which columns, and the filters that choose the ranges. */
final class PenstockScan implements Scan, Batch {
  private final PushDown pushed;
  private final Selected selected;
  private final CaseInsensitiveStringMap options;
  private InputPartition[] partitions;
  private PartitionReaderFactory readers;

  PenstockScan(PushDown pushed, CaseInsensitiveStringMap options) {
    this.pushed = pushed;
    this.options = options;
    this.selected = new Selected(options);
  }

  @Override
  public StructType readSchema() {
    return pushed.columns();
  }

  @Override
  public String description() {
    String filters = Arrays.stream(pushed.filters().taken()).map(Object::toString).collect(Collectors.joining(", "));
    return selected + " columns [" + String.join(", ", pushed.columns().fieldNames()) + "], pushed filters ["
        + filters + "]";
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    plan();
    return partitions;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    plan();
    return readers;
  }

  /** Spark may plan one scan several times; what it reads is settled by the first. */
  private synchronized void plan() {
    if (partitions != null) {
      return;
    }
    ObjectNode fields = PythonSource.fields(options, pushed.markedSchema());
    fields.put("may_be_rows", PythonSource.takesFewRows());
    Companion.Answer answer = Failures.ofPlanning(() -> Companion.ofActive().ask("plan", fields));
    List<byte[]> parts = answer.parts();
    if (Plan.areRows(answer)) {
      readers = new FewRows.Readers(null);
      partitions = Plan.ofRows(parts);
    } else {
      readers = Plan.readers(parts.get(0), pushed.columns(), options);
      partitions = Plan.ofRanges(parts.subList(1, parts.size()));
    }
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    return new PenstockStream(pushed.columns(), options, selected);
  }
}
