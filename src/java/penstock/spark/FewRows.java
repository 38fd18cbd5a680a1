package penstock.spark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.util.CloseableIterator;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Rows that came with the plan, as an Arrow stream: they are read without Python. */
final class FewRows implements InputPartition {
  private static final long serialVersionUID = 1L;

  private final byte[] stream;

  FewRows(byte[] stream) {
    this.stream = stream;
  }

  /** Readers of such partitions and, if there are others, of ranges. */
  static final class Readers implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    private final PartitionReaderFactory ofRanges;

    Readers(PartitionReaderFactory ofRanges) {
      this.ofRanges = ofRanges;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return partition instanceof FewRows few ? new Reader(few) : ofRanges.createReader(partition);
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      return ofRanges.createColumnarReader(partition);
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
      return !(partition instanceof FewRows) && ofRanges.supportColumnarReads(partition);
    }
  }

  private static final class Reader implements PartitionReader<InternalRow> {
    private final CloseableIterator<InternalRow> rows;

    Reader(FewRows few) {
      rows = ArrowConverters$.MODULE$.fromIPCStream(few.stream)._1();
    }

    @Override
    public boolean next() {
      return rows.hasNext();
    }

    @Override
    public InternalRow get() {
      return rows.next();
    }

    @Override
    public void close() throws IOException {
      try {
        rows.close();
      } catch (IOException | RuntimeException error) {
        throw error;
      } catch (Exception error) {
        throw new IOException(error);
      }
    }
  }
}
