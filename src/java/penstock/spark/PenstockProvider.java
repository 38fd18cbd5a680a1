package penstock.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code format("penstock")} for Spark: the Python source of the same name, with what Spark offers to the JVM only.
 *
 * <p>It reads and writes nothing itself. Spark makes one of each provider it knows for any query, so nothing here may
 * fail before the source is used.
 */
public final class PenstockProvider implements TableProvider, DataSourceRegister, CreatableRelationProvider {
  static final String NAME = "penstock";

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    SparkVersion.require();
    ObjectNode fields = Companion.fields();
    fields.set("options", Companion.options(options.asCaseSensitiveMap()));
    String schema = Failures.ofCreation(() -> Companion.ofActive().ask("schema", fields)).fields().get("schema").asText();
    return (StructType) DataType.fromJson(schema);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    SparkVersion.require();
    return new PenstockTable(schema, properties, false);
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  /** A batch write, in the modes of Spark's Kafka connector: append, and the default. */
  @Override
  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map<String, String> options, Dataset<Row> data) {
    SparkVersion.require();
    if (mode == SaveMode.Overwrite || mode == SaveMode.Ignore) {
      throw Sneaky.<RuntimeException>thrown(new RefusedMode(mode));
    }
    if (PythonSource.isOnExecutors()) {
      CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(CollectionConverters.asJava(options));
      DirectWrite.run(data, new Output(given, data.schema(), "", false, false));
    } else {
      data.write().format(BatchSink.class.getName()).options(options).mode(SaveMode.Append).save();
    }
    return new Written(context, data.schema());
  }
}
