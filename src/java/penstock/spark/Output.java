package penstock.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.JobArtifactState;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/** What batch and streaming writes have in common: tasks run in Python, unless they have few rows; Python commits. */
final class Output {
  private static final String BATCH = "streaming.sql.batchId";

  private final Companion companion = Companion.ofActive();
  private final CaseInsensitiveStringMap options;
  private final StructType schema;
  private final String query;
  private final boolean overwrites;
  private final boolean isStream;
  private volatile long write; // the number of the latest

  Output(LogicalWriteInfo info, boolean overwrites, boolean isStream) {
    this(info.options(), info.schema(), info.queryId(), overwrites, isStream);
  }

  Output(
      CaseInsensitiveStringMap options, StructType schema, String query, boolean overwrites, boolean isStream) {
    this.options = options;
    this.schema = schema;
    this.query = query;
    this.overwrites = overwrites;
    this.isStream = isStream;
  }

  private ObjectNode fields() {
    return PythonSource.fields(options, schema);
  }

  /** One factory under its two interfaces. */
  record Writers(DataWriterFactory ofBatch, StreamingDataWriterFactory ofStream) {}

  Writers writers() {
    return writers(() -> {});
  }

  /** With something to do until Python has answered; if both fail, its reason comes first. */
  Writers writers(Runnable meanwhile) {
    ObjectNode fields = fields().put("streaming", isStream).put("overwrite", overwrites);
    fields.put("directory", PythonSource.localDirectory()).put("query", query).put("batch", batch());
    Supplier<Companion.Answer> answer = companion.begin("open_write", fields, List.of());
    Companion.Answer opened;
    try {
      meanwhile.run();
    } finally {
      opened = Failures.ofWriting("plan", answer);
      write = opened.fields().get("write").asLong();
    }
    Option<String> artifacts = JobArtifactSet.getCurrentJobArtifactState().map(JobArtifactState::uuid);
    PythonStreamingWriterFactory python = new PythonStreamingWriterFactory(
        PythonSource.environment(), opened.parts().get(0), schema, artifacts, Option.empty());
    int bytesMax = opened.fields().get("rows_bytes_max").asInt();
    if (bytesMax == 0 || !PythonSource.takesFewRows()) {
      return new Writers(python, python);
    }
    SQLConf conf = SQLConf$.MODULE$.get();
    SmallWrites small = new SmallWrites(
        python, schema, bytesMax, conf.sessionLocalTimeZone(), conf.arrowUseLargeVarTypes());
    return new Writers(small, small);
  }

  /** The number of the batch of a stream that this thread is at, which Spark tells tasks in the same way. */
  private Long batch() {
    String number = isStream ? SparkContext.getOrCreate().getLocalProperty(BATCH) : null;
    return number == null ? null : Long.valueOf(number);
  }

  void commit(WriterCommitMessage[] messages) {
    ObjectNode fields = fields().put("query", query).put("write", write);
    List<byte[]> parts = parts(messages, fields.putArray("tasks"));
    Failures.ofWriting("commit", () -> companion.ask("commit", fields, parts));
  }

  void commitBatch(long batch, WriterCommitMessage[] messages, boolean aborts) {
    ObjectNode fields = fields().put("query", query).put("write", write).put("batch", batch).put("abort", aborts);
    List<byte[]> parts = parts(messages, fields.putArray("tasks"));
    Failures.ofStream(aborts ? "abort" : "commit", () -> companion.ask("commit_batch", fields, parts));
  }

  /** Has what tasks have left removed, after a write that failed before its commit. */
  void abandon() {
    companion.ask("abandon_write", Companion.fields().put("write", write));
  }

  /** The outputs of tasks; {@code tasks} gets the number of the task for each that is rows. */
  private static List<byte[]> parts(WriterCommitMessage[] messages, ArrayNode tasks) {
    List<byte[]> parts = new ArrayList<>();
    for (WriterCommitMessage message : messages) {
      if (message instanceof SmallWrites.Rows rows && rows.stream() != null) {
        parts.add(rows.stream());
        tasks.add(rows.task());
      } else if (message instanceof PythonWriterCommitMessage pickled) {
        parts.add(pickled.pickledMessage());
        tasks.addNull();
      }
    }
    return parts;
  }
}
