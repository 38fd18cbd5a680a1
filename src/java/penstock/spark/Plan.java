package penstock.spark;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatch;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The partitions of a query or of a batch of a stream: ranges for tasks of Python, or few rows as they are. */
final class Plan {
  private Plan() {}

  static boolean areRows(Companion.Answer answer) {
    return answer.fields().path("are_rows").asBoolean();
  }

  static InputPartition[] ofRows(List<byte[]> streams) {
    return streams.stream().map(FewRows::new).toArray(InputPartition[]::new);
  }

  static InputPartition[] ofRanges(List<byte[]> ranges) {
    return IntStream.range(0, ranges.size()).mapToObj(each -> new PythonInputPartition(each, ranges.get(each)))
        .toArray(InputPartition[]::new);
  }

  /** Readers of ranges, which run this task in Python. */
  static PartitionReaderFactory readers(byte[] task, StructType columns, CaseInsensitiveStringMap options) {
    return new PythonBatch(new PythonSource(task), PenstockProvider.NAME, columns, options).createReaderFactory();
  }
}
