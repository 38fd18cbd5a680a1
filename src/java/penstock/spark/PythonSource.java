package penstock.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonUtils$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.util.Utils$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The source in Python, as Spark's own classes see it that run tasks in workers of Python.
 *
 * <p>What these would ask Python before there are tasks, the {@link Companion} answers.
 */
final class PythonSource extends PythonDataSourceV2 {
  private static final String FEW_ROWS = "spark.penstock.fewRows";
  private static final String LOCAL_FILES = "spark.penstock.localFiles";
  private static UserDefinedPythonDataSource environment;

  private final PythonDataSourceReadInfo task;

  /** With the task of a reading query, pickled. */
  PythonSource(byte[] task) {
    this.task = new PythonDataSourceReadInfo(task, CollectionConverters.asScala(List.<byte[]>of()).toSeq());
    setShortName(PenstockProvider.NAME);
  }

  /** The Python that runs tasks; which source it is does not matter to them. */
  @Override
  public UserDefinedPythonDataSource source() {
    return environment();
  }

  static synchronized UserDefinedPythonDataSource environment() {
    if (environment == null) {
      environment = new UserDefinedPythonDataSource(PythonUtils$.MODULE$.createPythonFunction(new byte[0]));
    }
    return environment;
  }

  @Override
  public PythonDataSourceReadInfo getOrCreateReadInfo(
      String shortName, CaseInsensitiveStringMap given, StructType schema, boolean isStreaming) {
    return task;
  }

  /** Whether few rows may come and go without a task in Python, unless the session says that they may not. */
  static boolean takesFewRows() {
    return isOnExecutors() && Boolean.parseBoolean(SQLConf$.MODULE$.get().getConfString(FEW_ROWS, "true"));
  }

  /** Whether executors have our classes, as Spark's own are enough for tasks in Python. */
  static boolean isOnExecutors() {
    SparkContext context = SparkContext.getOrCreate();
    return context.isLocal()
        || CollectionConverters.asJava(context.listJars()).stream().anyMatch(jar -> jar.endsWith("penstock-spark.jar"));
  }

  /** A directory of this machine for files of tasks; null if there are to be none, or none that is not encrypted. */
  static String localDirectory() {
    SparkConf conf = SparkContext.getOrCreate().getConf();
    boolean isWanted = Boolean.parseBoolean(SQLConf$.MODULE$.get().getConfString(LOCAL_FILES, "true"));
    boolean isAllowed = isWanted && !conf.getBoolean("spark.io.encryption.enabled", false);
    return isAllowed ? Utils$.MODULE$.getLocalDir(conf) : null;
  }

  static ObjectNode fields(CaseInsensitiveStringMap options, StructType schema) {
    ObjectNode fields = Companion.fields();
    fields.set("options", Companion.options(options.asCaseSensitiveMap()));
    return fields.put("schema", schema.json());
  }
}
