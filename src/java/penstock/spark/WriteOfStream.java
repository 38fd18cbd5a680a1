package penstock.spark;

import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;

/** A streaming write to topics. */
final class WriteOfStream implements StreamingWrite {
  private final Output output;

  WriteOfStream(Output output) {
    this.output = output;
  }

  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo physical) {
    return output.writers().ofStream();
  }

  @Override
  public void commit(long batch, WriterCommitMessage[] messages) {
    output.commitBatch(batch, messages, false);
  }

  @Override
  public void abort(long batch, WriterCommitMessage[] messages) {
    output.commitBatch(batch, messages, true);
  }
}
