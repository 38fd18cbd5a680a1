"""The measured work: each once through one of the two formats, as seconds and rows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bench.spark.topics import SCHEMA

THEIRS, OURS = "kafka", "penstock"
CONNECTOR = Path(__file__).parents[2] / "tests" / "compat" / ".cache" / "spark"
"""The jars of Spark's own connector, as `make compat-setup` fetches them."""


class World(NamedTuple):
    """The topics of the works. `first_ms` and `span_ms` are the times of the records in `two`.

    In `timed` each record has a time of its own, `rows` milliseconds from `timed_ms` on.
    """

    spark: SparkSession
    address: str
    rows: int
    first_ms: int
    span_ms: int
    cached: DataFrame
    timed_ms: int = 0


def frame(world: World, source: str, topic: str, **options: str | int) -> DataFrame:
    return (
        world.spark.read.format(source).option("kafka.bootstrap.servers", world.address)
        .option("subscribe", topic).options(**options).load()
    )  # fmt: skip


def run(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def read_one(world: World, source: str) -> int:
    run(frame(world, source, "one"))
    return world.rows


def read_two(world: World, source: str) -> int:
    run(frame(world, source, "two"))
    return world.rows


def read_columns(world: World, source: str) -> int:
    options = {"columns": "value,offset"} if source == OURS else {}
    run(frame(world, source, "two", **options).select("value", "offset"))
    return world.rows


def count(world: World, source: str) -> int:
    options = {"columns": "offset"} if source == OURS else {}
    return frame(world, source, "many", **options).count()


def typed(world: World, source: str) -> int:
    if source == OURS:
        run(
            frame(world, source, "json", valueFormat="json", valueSchema=SCHEMA).select(
                "symbol", "price", "lots", "open", "day"
            )
        )
    else:
        values = F.from_json(F.col("value").cast("string"), SCHEMA).alias("v")
        run(frame(world, source, "json").select(values).select("v.*"))
    return world.rows


def by_time(world: World, source: str) -> int:
    """One hundredth, from the middle; rows per second are those of the whole topic."""
    start, end = world.first_ms + world.span_ms // 2, world.first_ms + world.span_ms // 2 + world.span_ms // 100
    if source == OURS:
        run(frame(world, source, "two", startingTimestamp=start, endingTimestamp=end))
    else:
        whole = frame(world, source, "two")
        run(
            whole.where(
                F.col("timestamp").between(F.timestamp_millis(F.lit(start)), F.timestamp_millis(F.lit(end - 1)))
            )
        )
    return world.rows


def read_timed(world: World, source: str) -> int:
    run(frame(world, source, "timed"))
    return world.rows


def eleven_by_offset(world: World, source: str) -> int:
    """As in those that follow, rows per second are those of the whole topic."""
    first = world.rows // 4
    return _eleven(world, source, f"partition = 1 AND offset BETWEEN {first} AND {first + 10}")


def eleven_newest(world: World, source: str) -> int:
    return _eleven(world, source, f"timestamp >= timestamp_millis({world.timed_ms + world.rows - 11})")


def eleven_by_time(world: World, source: str) -> int:
    """Somewhere in the middle: a late record may be an old one, so what comes later counts as well."""
    first = world.timed_ms + world.rows // 4 + random.randrange(world.rows // 2)
    return _eleven(world, source, f"timestamp BETWEEN timestamp_millis({first}) AND timestamp_millis({first + 10})")


def _eleven(world: World, source: str, condition: str) -> int:
    found = frame(world, source, "timed").where(condition).collect()
    assert len(found) == 11, len(found)
    return world.rows


def write(world: World, source: str) -> int:
    rows = world.cached.count()
    writer = world.cached.write.format(source).mode("append")
    writer.option("kafka.bootstrap.servers", world.address).option("topic", "written").save()
    return rows


def write_once(world: World, source: str) -> int:
    """Exactly once through ours; Spark's connector has nothing of the kind, and writes as it does."""
    rows = world.cached.count()
    writer = world.cached.write.format(source).mode("append").option("topic", "written")
    if source == OURS:
        writer = writer.option("delivery", "exactly-once")
    writer.option("kafka.bootstrap.servers", world.address).save()
    return rows


def read_ten(world: World, source: str) -> int:
    found = frame(world, source, "few").collect()
    assert len(found) == FEW, len(found)
    return FEW


def write_five(world: World, source: str) -> int:
    rows = world.spark.range(0, 5, 1, 1).selectExpr("CAST(id AS STRING) AS key", "lpad(id, 100, '0') AS value")
    writer = rows.write.format(source).mode("append").option("topic", "written")
    writer.option("kafka.bootstrap.servers", world.address).save()
    return 5


WORKS: dict[str, Callable[[World, str], int]] = {
    "read_one": read_one,
    "read_two": read_two,
    "read_columns": read_columns,
    "count": count,
    "typed": typed,
    "by_time": by_time,
    "read_timed": read_timed,
    "eleven_by_offset": eleven_by_offset,
    "eleven_newest": eleven_newest,
    "eleven_by_time": eleven_by_time,
    "write": write,
    "write_once": write_once,
    "read_ten": read_ten,
    "write_five": write_five,
}
SMALL = {"read_ten": 10, "write_five": 5}
"""Works of so many rows, whose time is that of the query: shown in ms."""
FEW = SMALL["read_ten"]
TOPICS = {
    "read_one": "one",
    "read_two": "two",
    "read_columns": "two",
    "count": "many",
    "typed": "json",
    "by_time": "two",
    "read_timed": "timed",
    "eleven_by_offset": "timed",
    "eleven_newest": "timed",
    "eleven_by_time": "timed",
    "write": "written",
    "write_once": "written",
    "read_ten": "few",
    "write_five": "written",
}
"""The topic of each work."""
TARGETS = {
    "read_one": 3.0, "read_two": 3.0, "read_columns": 3.0, "count": 4.0, "typed": 2.0, "by_time": 10.0, "write": 2.5,
    "write_once": 2.0, "read_ten": 1.0, "write_five": 1.0,
}  # fmt: skip
"""How many times as fast as Spark's connector ours must be."""
WHOLE, ELEVEN, OF_WHOLE = "read_timed", ("eleven_by_offset", "eleven_newest", "eleven_by_time"), 20.0
"""Eleven rows of a topic must come this many times as fast as all of them."""
COUNT_ROWS, COUNT_S = 10_000_000, 3.0
"""How long ours may take to count so many records."""


def rows_per_second(world: World, name: str, source: str) -> float:
    started = time.perf_counter()
    rows = WORKS[name](world, source)
    return rows / (time.perf_counter() - started)
