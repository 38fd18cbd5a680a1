"""The topic as two tables: what is a price, and what is none, with the reason.

Each of them reads the topic for itself and reports its progress to a consumer group of its own.
"""

from pyspark import pipelines as dp
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

spark = SparkSession.active()

RECORD = "symbol STRING, price DOUBLE, size LONG, time TIMESTAMP, _corrupt STRING"


def records(group: str) -> DataFrame:
    """Every record of the topic, read as JSON, with `reason`: why it is no price, null if it is one."""
    topic = (
        spark.readStream.format("penstock")
        .option("kafka.bootstrap.servers", spark.conf.get("penstock.bootstrap.servers"))
        .option("subscribe", spark.conf.get("prices.topic"))
        .option("startingOffsets", "earliest")
        .option("kafka.group.id", f"{spark.conf.get('prices.group')}-{group}")
        .option("columns", "value,partition,offset,timestamp")
        .load()
    )
    text = F.col("value").cast("string")
    record = F.from_json(text, RECORD, {"columnNameOfCorruptRecord": "_corrupt"})
    parsed = topic.select(text.alias("value"), "partition", "offset", "timestamp", record.alias("record"))
    return parsed.select("value", "partition", "offset", "timestamp", "record.*").withColumn("reason", reason())


def reason() -> Column:
    return (
        F.when(F.col("value").isNull(), "the record is empty")
        .when(F.col("_corrupt").isNotNull(), "it cannot be read as JSON of the right types")
        .when(F.col("symbol").isNull(), "symbol is missing")
        .when(F.col("time").isNull(), "time is missing")
        .when(F.col("price").isNull(), "price is missing")
        .when(F.col("price") <= 0, "price is not above 0")
    )


@dp.table(comment="Prices that can be trusted")
def prices() -> DataFrame:
    return records("clean").where("reason IS NULL").select("symbol", "price", "size", "time")


@dp.table(comment="Records that are no prices, and why")
def quarantine() -> DataFrame:
    bad = records("quarantine").where("reason IS NOT NULL")
    return bad.select("reason", "value", "partition", "offset", "timestamp")
