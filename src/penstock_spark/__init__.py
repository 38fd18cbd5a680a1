"""Topics as Spark tables and streams: `format("penstock")`. Brokers are reached over the Kafka protocol only.

Programs need nothing from here: with `pip install 'penstock[spark]'` every PySpark session knows the format by its
name, and everything else is an option. `jar()` is the path of the part that runs in Spark's JVM, for a session without
the package penstock-spark.

    spark = SparkSession.builder.config("spark.jars", penstock_spark.jar()).getOrCreate()
    reader = spark.read.format("penstock").option("kafka.bootstrap.servers", "localhost:9092")
    reader.option("subscribe", "prices").load().show()
"""

__all__ = ["jar"]


def jar() -> str:
    """The path of penstock-spark.jar, for `spark.jars`. FileNotFoundError in a clone that was made without a JDK."""
    from penstock_spark.jar_file import existing_jar  # every session imports this package

    return str(existing_jar())
