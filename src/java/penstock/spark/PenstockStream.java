package penstock.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReadMinRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSourceOffset;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A stream of topics, whose positions the {@link Companion} finds. It also says what it reads and how far it is behind. */
final class PenstockStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final Companion companion = Companion.ofActive();
  private final Selected selected;
  private final long number;
  private final ReadLimit limit;
  private final PartitionReaderFactory readers;
  private final boolean mayBeRows = PythonSource.takesFewRows();
  private Offset newest;

  PenstockStream(StructType columns, CaseInsensitiveStringMap options, Selected selected) {
    this.selected = selected;
    ObjectNode fields = PythonSource.fields(options, columns);
    Companion.Answer opened = Failures.ofCreation(() -> companion.ask("open_stream", fields));
    PartitionReaderFactory ofRanges = Plan.readers(opened.parts().get(0), columns, options);
    readers = mayBeRows ? new FewRows.Readers(ofRanges) : ofRanges;
    number = opened.fields().get("stream").asLong();
    JsonNode told = opened.fields().get("limit");
    limit = told.has("most") ? ReadLimit.maxRows(told.get("most").asLong())
        : told.has("least") ? ReadLimit.minRows(told.get("least").asLong(), Long.MAX_VALUE)
        : ReadLimit.allAvailable();
  }

  private ObjectNode fields() {
    return Companion.fields().put("stream", number);
  }

  private Companion.Answer ask(String call, String action, ObjectNode fields) {
    return Failures.ofStream(action, () -> companion.ask(call, fields));
  }

  private static Offset offset(JsonNode found) {
    return found.isNull() ? null : new PythonStreamingSourceOffset(found.asText());
  }

  @Override
  public Offset initialOffset() {
    return offset(ask("initial_offset", "initialOffset", fields()).fields().get("offset"));
  }

  /** Not asked of a source that takes limits. */
  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is to be called");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit wanted) {
    ObjectNode told = Companion.fields();
    if (wanted instanceof ReadMaxRows most) {
      told.put("most", most.maxRows());
    } else if (wanted instanceof ReadMinRows least) {
      told.put("least", least.minRows());
    }
    ObjectNode fields = fields().put("start", start.json());
    fields.set("limit", told);
    JsonNode found = ask("latest_offset", "latestOffset", fields).fields();
    newest = offset(found.get("newest"));
    return offset(found.get("offset"));
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return limit;
  }

  @Override
  public Offset reportLatestOffset() {
    return newest;
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    ask("prepare_available_now", "prepareForTriggerAvailableNow", fields());
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new PythonStreamingSourceOffset(json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    ObjectNode fields = fields().put("start", start.json()).put("end", end.json());
    fields.put("may_be_rows", mayBeRows);
    Companion.Answer answer = ask("plan_stream", "planPartitions", fields);
    return Plan.areRows(answer) ? Plan.ofRows(answer.parts()) : Plan.ofRanges(answer.parts());
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return readers;
  }

  /** Nothing: progress is told when the next batch is asked for, and is in the checkpoint. */
  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {
    companion.tell("close_stream", fields());
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
