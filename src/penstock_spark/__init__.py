"""Topics as Spark tables and streams: `format("penstock")`. Brokers are reached over the Kafka protocol only.

Programs import nothing from here: with `pip install 'penstock[spark]'` every PySpark session knows the format by its
name, and everything else is an option.

    reader = spark.read.format("penstock").option("kafka.bootstrap.servers", "localhost:9092")
    reader.option("subscribe", "prices").load().show()
"""

__all__: list[str] = []
