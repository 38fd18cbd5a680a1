package penstock.spark;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A batch write to topics. */
final class WriteOfBatch implements BatchWrite {
  private final Output output;

  WriteOfBatch(Output output) {
    this.output = output;
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
    return output.writers().ofBatch();
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    output.commit(messages);
  }

  /** What tasks have written stays, as with Spark's own connector, or was never written. */
  @Override
  public void abort(WriterCommitMessage[] messages) {
    output.abandon();
  }
}
