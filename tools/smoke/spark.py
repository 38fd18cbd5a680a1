"""The check of the wheel penstock-spark: a PySpark session without a setting has all that the source can do."""

from __future__ import annotations

from pathlib import Path

from tools.smoke.environment import INSTALL_TIMEOUT_S, Environment, SmokeError
from tools.smoke.service import Service

_PROGRAM = """
import sys, tempfile
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
address = {"kafka.bootstrap.servers": sys.argv[1]}
writer = spark.range(20).selectExpr("CAST(id AS STRING) AS value").write.format("penstock")
writer.options(**address, topic="smoke-spark").save()
frame = spark.read.format("penstock").options(**address, subscribe="smoke-spark").load()
some = frame.where("partition = 0 AND offset BETWEEN 3 AND 5").select("offset")
print("pushed filters [EqualTo(partition,0)" in some._jdf.queryExecution().executedPlan().toString())
print(some.count(), frame.count())
reader = spark.readStream.format("penstock").options(**address, subscribe="smoke-spark")
stream = reader.option("startingOffsets", "earliest").load()
writer = stream.groupBy("partition").count().selectExpr("CAST(count AS STRING) AS value").writeStream.format("penstock")
writer = writer.options(**address, topic="smoke-spark-counts", checkpointLocation=tempfile.mkdtemp())
writer.outputMode("update").trigger(availableNow=True).start().awaitTermination()
print(spark.read.format("penstock").options(**address, subscribe="smoke-spark-counts").load().count())
"""


def sessions(environment: Environment, service: Service, wheel: Path, pins: Path) -> str:
    """Push-down and update mode, in a session that nobody has configured."""
    environment.add(wheel, pins)
    for topic in ("smoke-spark", "smoke-spark-counts"):
        environment.penstock("topic", "create", topic, "--bootstrap-server", service.bootstrap)
    output = environment.python("-c", _PROGRAM, service.bootstrap, timeout_s=INSTALL_TIMEOUT_S).split()
    if output != ["True", "3", "20", "1"]:
        raise SmokeError(f"a PySpark session without a setting gave {output}")
    return f"{wheel.name}: push-down and update mode without a setting"
