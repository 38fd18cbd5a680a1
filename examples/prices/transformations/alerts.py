"""Bars with a large move, as messages in a topic: exactly once, also when a run is killed and started again."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

spark = SparkSession.active()

dp.create_sink(
    "alerts",
    "penstock",
    {
        "kafka.bootstrap.servers": str(spark.conf.get("penstock.bootstrap.servers")),
        "commandConfig": str(spark.conf.get("penstock.command.config", "")),
        "topic": str(spark.conf.get("prices.alerts.topic")),
    },
)


@dp.append_flow(target="alerts", name="large_moves")
def large_moves() -> DataFrame:
    percent = float(str(spark.conf.get("prices.alerts.percent")))
    moved = F.round((F.col("close") / F.col("open") - 1) * 100, 2)
    bars = spark.readStream.table("bars").select("symbol", "minute", "open", "close", moved.alias("percent"))
    alert = F.to_json(F.struct("symbol", "minute", "open", "close", "percent"))
    return bars.where(F.abs("percent") >= percent).select(F.col("symbol").alias("key"), alert.alias("value"))
