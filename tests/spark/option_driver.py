"""A driver with an option that means nothing here: a stream of several batches from topic to topic, a read and a write.

python -m tests.spark.option_driver BOOTSTRAP SOURCE TARGET CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(bootstrap: str, source: str, target: str, checkpoint: str) -> None:
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    given = {"kafka.bootstrap.servers": bootstrap, "kafka.check.crcs": "true"}
    stream = session.readStream.format("penstock").options(**given, subscribe=source, startingOffsets="earliest")
    writer = stream.option("maxOffsetsPerTrigger", 5).load().writeStream.format("penstock")
    query = writer.options(**given, topic=target, checkpointLocation=checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    rows = session.read.format("penstock").options(**given, subscribe=source).load()
    rows.write.format("penstock").mode("append").options(**given, topic=target).save()
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
