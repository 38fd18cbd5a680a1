package penstock.spark;

/** The version of Spark whose inner parts this package is made for. */
public final class SparkVersion {
  static final String MADE_FOR = "4.3";

  private SparkVersion() {}

  static void require() {
    require(org.apache.spark.package$.MODULE$.SPARK_VERSION());
  }

  /** Fail with one sentence, before a missing method does. */
  public static void require(String version) {
    if (!version.equals(MADE_FOR) && !version.startsWith(MADE_FOR + ".")) {
      throw new UnsupportedOperationException(
          "penstock-spark.jar is made for Spark " + MADE_FOR + ", and this is " + version
              + ": install the penstock of this Spark, or leave the jar out, without which format(\"penstock\") works"
              + " as a plain Python source");
    }
  }
}
