package penstock.spark;

import java.util.function.Supplier;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.errors.QueryExecutionErrors$;

/** Errors of Python as Spark's own classes for Python sources show them, so that programs need to know one kind. */
final class Failures {
  private Failures() {}

  static <T> T ofCreation(Supplier<T> work) {
    return compiling("create", "instance", work);
  }

  static <T> T ofPlanning(Supplier<T> work) {
    return compiling("generate", "read partitions", work);
  }

  static <T> T ofWriting(String action, Supplier<T> work) {
    return compiling(action, "writer", work);
  }

  private static <T> T compiling(String action, String kind, Supplier<T> work) {
    try {
      return work.get();
    } catch (CompanionError error) {
      throw Sneaky.<RuntimeException>thrown(
          QueryCompilationErrors$.MODULE$.pythonDataSourceError(action, kind, error.getMessage()));
    }
  }

  static <T> T ofStream(String action, Supplier<T> work) {
    try {
      return work.get();
    } catch (CompanionError error) {
      throw Sneaky.<RuntimeException>thrown(
          QueryExecutionErrors$.MODULE$.pythonStreamingDataSourceRuntimeError(action, error.getMessage()));
    }
  }
}
