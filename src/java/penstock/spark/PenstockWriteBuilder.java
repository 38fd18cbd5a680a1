package penstock.spark;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/** A write to topics, which takes the rows of update mode, too: each changed row is one more record. */
final class PenstockWriteBuilder implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
  private final LogicalWriteInfo info;
  private boolean overwrites;

  PenstockWriteBuilder(LogicalWriteInfo info) {
    this.info = info;
  }

  @Override
  public WriteBuilder truncate() {
    overwrites = true;
    return this;
  }

  @Override
  public Write build() {
    return new Write() {
      @Override
      public BatchWrite toBatch() {
        return new WriteOfBatch(new Output(info, overwrites, false));
      }

      @Override
      public StreamingWrite toStreaming() {
        return new WriteOfStream(new Output(info, overwrites, true));
      }

      @Override
      public String description() {
        return PenstockProvider.NAME;
      }
    };
  }
}
