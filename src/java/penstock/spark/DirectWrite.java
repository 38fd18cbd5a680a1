package penstock.spark;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A batch write as one job, without a second query around it, as Spark's Kafka connector runs its own. */
final class DirectWrite implements Function2<Integer, Iterator<InternalRow>, Iterator<WriterCommitMessage>> {
  private static final long serialVersionUID = 1L;

  private final DataWriterFactory writers;

  private DirectWrite(DataWriterFactory writers) {
    this.writers = writers;
  }

  static void run(Dataset<Row> data, Output output) {
    org.apache.spark.sql.classic.Dataset<Row> rows = (org.apache.spark.sql.classic.Dataset<Row>) data;
    DirectWrite task = new DirectWrite(output.writers().ofBatch());
    List<WriterCommitMessage> done;
    try {
      done = rows.queryExecution().toRdd().toJavaRDD().mapPartitionsWithIndex(task, true).collect();
    } catch (Throwable error) {
      output.abandon();
      throw error;
    }
    output.commit(done.toArray(new WriterCommitMessage[0]));
  }

  @Override
  public Iterator<WriterCommitMessage> call(Integer partition, Iterator<InternalRow> rows) throws IOException {
    try (DataWriter<InternalRow> writer = writers.createWriter(partition, TaskContext.get().taskAttemptId())) {
      try {
        writer.writeAll(rows);
        return List.of(writer.commit()).iterator();
      } catch (Throwable error) {
        writer.abort();
        throw error;
      }
    }
  }
}
