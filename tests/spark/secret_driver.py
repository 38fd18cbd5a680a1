"""A driver that uses every secret option, well and badly, and prints what users print: plans, progress, errors.

    python -m tests.spark.secret_driver REQUEST

REQUEST is a file with JSON: "good", "bad" and "denied" options by the name of the login, "topic", "directory". The
event log is below the directory, and so is everything else that Spark leaves behind.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import penstock_spark

HIDES_KEYS = "(?i)url|jaas|keystore[.]key|key[.]pem"
"""As docs/spark.md recommends it for keys in options."""


def session(directory: Path) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.jars": penstock_spark.jar(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": directory.joinpath("events").as_uri(),
        "spark.local.dir": str(directory / "local"),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.redaction.options.regex": HIDES_KEYS,
        "spark.sql.ui.explainMode": "extended",
        "spark.sql.maxMetadataStringLength": "1000000",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    made.sparkContext.setLogLevel("INFO")
    return made


def attempt(what: str, act: Callable[[], object]) -> None:
    """Print the outcome, as a program does that catches everything."""
    try:
        sys.stdout.write(f"{what}: done, {act()}\n")
    except Exception:
        sys.stdout.write(f"{what}: failed\n{traceback.format_exc()}\n")


class Uses:
    """The ways in which options reach Spark."""

    def __init__(self, spark: SparkSession, options: dict[str, str], topic: str, checkpoint: Path) -> None:
        self._spark, self._options, self._topic, self._checkpoint = spark, options, topic, checkpoint
        self._rows = spark.range(3).selectExpr("CAST(id AS STRING) AS value")

    def write(self) -> None:
        writer = self._rows.write.format("penstock").mode("append").options(**self._options, topic=self._topic)
        writer.option("delivery", "exactly-once").save()

    def read(self) -> object:
        frame = self._spark.read.format("penstock").options(**self._options, subscribe=self._topic).load()
        for mode in ("extended", "formatted"):
            frame.explain(mode=mode)
        narrow = frame.where("offset >= 1 AND partition = 0").select("offset")
        narrow.explain(mode="extended")
        return narrow.count(), frame.count(), frame, frame._jdf.queryExecution().toString()

    def view(self) -> object:
        given = {**self._options, "subscribe": self._topic}
        listed = ", ".join(f"`{name}` '{value}'" for name, value in given.items())
        self._spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING penstock OPTIONS ({listed})")
        return self._spark.sql("DESCRIBE EXTENDED v").collect(), self._spark.sql("SELECT count(*) FROM v").collect()

    def stream(self) -> object:
        source = self._spark.readStream.format("penstock").options(**self._options, subscribe=self._topic)
        frame = source.option("startingOffsets", "earliest").load().select("value")
        frame.explain(True)
        writer = frame.writeStream.format("penstock").options(**self._options, topic=self._topic)
        query = writer.option("checkpointLocation", str(self._checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination(120)
        finally:
            query.explain(True)
            sys.stdout.write(f"{query.recentProgress} {query.status} {query.exception()}\n")
        return query.lastProgress


def main(request: dict[str, Any]) -> None:
    directory = Path(request["directory"])
    spark = session(directory)
    for kind in ("good", "bad", "denied"):
        for login, options in request[kind].items():
            uses = Uses(spark, options, request["topic"], directory / f"checkpoint-{kind}-{login}")
            for name in ("write", "read", "view", "stream"):
                attempt(f"{kind} {login} {name}", getattr(uses, name))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
