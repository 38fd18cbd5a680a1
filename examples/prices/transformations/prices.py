"""The topic as two tables: what is a price, and what is none, with the reason.

Each of them reads the topic for itself and reports its progress to a consumer group of its own.
"""

from pyspark import pipelines as dp
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

spark = SparkSession.active()

PRICE = "symbol STRING, price DOUBLE, size BIGINT, time TIMESTAMP"
OF_RECORD = "_value,_partition,_offset,_timestamp,_error"


def records(group: str) -> DataFrame:
    """Every record of the topic as a row, with `reason`: why it is no price, null if it is one."""
    return (
        spark.readStream.format("penstock")
        .option("kafka.bootstrap.servers", spark.conf.get("penstock.bootstrap.servers"))
        .option("commandConfig", spark.conf.get("penstock.command.config", ""))
        .option("subscribe", spark.conf.get("prices.topic"))
        .option("startingOffsets", "earliest")
        .option("kafka.group.id", f"{spark.conf.get('prices.group')}-{group}")
        .option("valueFormat", "json")
        .option("valueSchema", PRICE)
        .option("columns", f"symbol,price,size,time,{OF_RECORD}")
        .load()
        .withColumn("reason", reason())
    )


def reason() -> Column:
    return (
        F.when(F.col("_value").isNull(), "the record is empty")
        .when(F.col("_error").isNotNull(), F.col("_error"))
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
    of_record = (F.col(f"_{name}").alias(name) for name in ("partition", "offset", "timestamp"))
    return bad.select("reason", F.col("_value").cast("string").alias("value"), *of_record)
