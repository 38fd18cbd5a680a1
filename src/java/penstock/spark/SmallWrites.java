package penstock.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.arrow.ArrowConverters.ArrowBatchWithSchemaIterator;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingWriterFactory;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tasks with few rows leave them to the driver as they are, as an Arrow stream, so that no worker of Python has to be
 * asked. Tasks with more rows run in Python, as all would without this.
 */
final class SmallWrites implements StreamingDataWriterFactory, DataWriterFactory {
  private static final long serialVersionUID = 1L;

  private final PythonStreamingWriterFactory python;
  private final StructType schema;
  private final int bytesMax;
  private final String timeZone;
  private final boolean largeTypes;

  SmallWrites(
      PythonStreamingWriterFactory python, StructType schema, int bytesMax, String timeZone, boolean largeTypes) {
    this.python = python;
    this.schema = schema;
    this.bytesMax = bytesMax;
    this.timeZone = timeZone;
    this.largeTypes = largeTypes;
  }

  /** The rows of one task; no stream if it had none. */
  record Rows(int task, byte[] stream) implements WriterCommitMessage {}

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return new Writer(partition, python.createWriter(partition, task));
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    return new Writer(partition, python.createWriter(partition, task, epoch));
  }

  private final class Writer implements DataWriter<InternalRow> {
    private final int partition;
    private final DataWriter<InternalRow> inPython;
    private WriterCommitMessage done;

    Writer(int partition, DataWriter<InternalRow> inPython) {
      this.partition = partition;
      this.inPython = inPython;
    }

    @Override
    public void writeAll(Iterator<InternalRow> rows) throws IOException {
      List<InternalRow> first = new ArrayList<>();
      UnsafeProjection project = null; // generated code, and rows are flat as a rule
      long bytes = 0;
      while (bytes <= bytesMax && rows.hasNext()) {
        InternalRow row = rows.next();
        if (!(row instanceof UnsafeRow) && project == null) {
          project = UnsafeProjection.create(schema);
        }
        UnsafeRow flat = row instanceof UnsafeRow already ? already : project.apply(row);
        bytes += flat.getSizeInBytes();
        first.add(flat.copy());
      }
      if (bytes > bytesMax) {
        inPython.writeAll(new Joined(first.iterator(), rows));
        done = inPython.commit();
      } else {
        done = new Rows(partition, first.isEmpty() ? null : stream(first));
      }
    }

    private byte[] stream(List<InternalRow> rows) {
      try (ArrowBatchWithSchemaIterator batches = ArrowConverters$.MODULE$.toBatchWithSchemaIterator(
          CollectionConverters.asScala(rows.iterator()), schema, Long.MAX_VALUE, Long.MAX_VALUE, timeZone, true,
          largeTypes)) {
        return batches.next();
      }
    }

    @Override
    public void write(InternalRow row) {
      throw new UnsupportedOperationException("writeAll is to be called");
    }

    @Override
    public WriterCommitMessage commit() {
      return done;
    }

    @Override
    public void abort() throws IOException {
      inPython.abort();
    }

    @Override
    public void close() throws IOException {
      inPython.close();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return inPython.currentMetricsValues();
    }
  }

  /** One iterator after another. */
  private record Joined(Iterator<InternalRow> first, Iterator<InternalRow> rest) implements Iterator<InternalRow> {
    @Override
    public boolean hasNext() {
      return first.hasNext() || rest.hasNext();
    }

    @Override
    public InternalRow next() {
      return first.hasNext() ? first.next() : rest.next();
    }
  }
}
