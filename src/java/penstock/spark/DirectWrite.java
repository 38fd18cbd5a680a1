package penstock.spark;

import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.QueryExecution;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/** A batch write as one job, without a second query around it, as Spark's Kafka connector runs its own. */
final class DirectWrite extends AbstractFunction2<TaskContext, Iterator<InternalRow>, WriterCommitMessage>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  private final DataWriterFactory writers;

  private DirectWrite(DataWriterFactory writers) {
    this.writers = writers;
  }

  static void run(Dataset<Row> data, Output output) {
    QueryExecution query = ((org.apache.spark.sql.classic.Dataset<Row>) data).queryExecution();
    WriterCommitMessage[] done;
    try {
      // Spark plans while Python looks at the options. Computing, which `toRdd` may begin, waits until they fit.
      DirectWrite task = new DirectWrite(output.writers(query::executedPlan).ofBatch());
      RDD<InternalRow> rows = query.toRdd();
      done = (WriterCommitMessage[])
          rows.context().runJob(rows, task, ClassTag$.MODULE$.<WriterCommitMessage>apply(WriterCommitMessage.class));
    } catch (Throwable error) {
      output.abandon();
      throw error;
    }
    output.commit(done);
  }

  @Override
  public WriterCommitMessage apply(TaskContext context, Iterator<InternalRow> rows) {
    try (DataWriter<InternalRow> writer = writers.createWriter(context.partitionId(), context.taskAttemptId())) {
      try {
        writer.writeAll(CollectionConverters.asJava(rows));
        return writer.commit();
      } catch (Throwable error) {
        writer.abort();
        throw error;
      }
    } catch (Throwable error) {
      throw Sneaky.<RuntimeException>thrown(error);
    }
  }
}
