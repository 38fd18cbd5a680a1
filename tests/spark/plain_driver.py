"""A driver whose session has not got the part in the JVM; it prints what comes of reading and writing as JSON.

python -m tests.spark.plain_driver '{"bootstrap": …, "topic": …, "target": …, "directory": …}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def refusal(act: Callable[[], Any]) -> str:
    try:
        act()
    except Exception as error:
        return str(error)
    return ""


def values(frame: DataFrame) -> list[str]:
    return sorted(bytes(row.value).decode() for row in frame.collect())


def main(given: dict[str, str]) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark: SparkSession = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    address = {"kafka.bootstrap.servers": given["bootstrap"]}
    frame = spark.read.format("penstock").options(**address, subscribe=given["topic"]).load()
    told: dict[str, Any] = {"rows": values(frame), "filtered": values(frame.where("offset = 1"))}
    told["plan"] = str(frame._jdf.queryExecution().executedPlan().toString())
    writer = frame.select("value").write.format("penstock").options(**address, topic=given["target"])
    told["no mode"] = refusal(writer.save)
    stream = spark.readStream.format("penstock").options(**address, subscribe=given["topic"])
    stream_frame = stream.option("startingOffsets", "earliest").load()
    changed = stream_frame.groupBy("value").count().select("value").writeStream.format("penstock")
    changed = changed.options(**address, topic=given["target"], checkpointLocation=f"{given['directory']}/update")
    updating = changed.outputMode("update").trigger(availableNow=True)
    told["update mode"] = refusal(lambda: updating.start().awaitTermination(120))
    copying = stream_frame.select("value").writeStream.format("penstock").options(**address, topic=given["target"])
    copying = copying.option("checkpointLocation", f"{given['directory']}/copy")
    copying.trigger(availableNow=True).start().awaitTermination(120)
    told["copied"] = values(spark.read.format("penstock").options(**address, subscribe=given["target"]).load())
    spark.stop()
    sys.stdout.write(f"{json.dumps(told)}\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
