package penstock.spark;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** The stream of the Python source, which also says what it reads and how far it is behind. */
final class PenstockStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final MicroBatchStream inner;
  private final SupportsTriggerAvailableNow limits;
  private final Selected selected;
  private Offset newest;

  /** One stream under its two interfaces. */
  PenstockStream(MicroBatchStream inner, SupportsTriggerAvailableNow limits, Selected selected) {
    this.inner = inner;
    this.limits = limits;
    this.selected = selected;
  }

  @Override
  public Offset initialOffset() {
    return inner.initialOffset();
  }

  @Override
  public Offset latestOffset() {
    return inner.latestOffset();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return limits.latestOffset(start, limit);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return limits.getDefaultReadLimit();
  }

  @Override
  public Offset reportLatestOffset() {
    newest = limits.reportLatestOffset();
    return newest;
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    limits.prepareForTriggerAvailableNow();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return inner.deserializeOffset(json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return inner.planInputPartitions(start, end);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return inner.createReaderFactory();
  }

  @Override
  public void commit(Offset end) {
    inner.commit(end);
  }

  @Override
  public void stop() {
    inner.stop();
  }

  /** Asked for after a batch, when Spark has just asked for the newest offsets, too. */
  @Override
  public Map<String, String> metrics(Optional<Offset> consumed) {
    return Lag.metrics(consumed.map(Offset::json).orElse(null), newest == null ? null : newest.json());
  }

  @Override
  public String toString() {
    return selected.toString();
  }
}
