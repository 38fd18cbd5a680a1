"""`python -m bench.spark`: rows per second through Spark's own connector and through ours, and their ratio.

One session (`local[2]`), one broker, the two in turn, each first in half of the rounds, after a warm-up; medians of the
rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import penstock_spark
from bench import store
from bench.machine import use_memory_once
from bench.rivals import Penstock, end_in_order_on_sigterm
from bench.spark.growth import growth
from bench.spark.stream import stream
from bench.spark.topics import fill, fill_few
from bench.spark.works import (
    CONNECTOR,
    COUNT_ROWS,
    COUNT_S,
    ELEVEN,
    FEW,
    OF_WHOLE,
    OURS,
    SMALL,
    TARGETS,
    THEIRS,
    TOPICS,
    WHOLE,
    WORKS,
    World,
    rows_per_second,
)
from penstock.client.address import Address

STREAM = "stream"
SHORT_WARM_UP, SHORT_TIMES = 10, 5
"""Rounds of short works before they are measured, and how many times as many rounds of them there are."""


def main() -> int:
    arguments = _arguments()
    end_in_order_on_sigterm()
    use_memory_once()
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as directory:
        broker = Penstock(Path(directory) / "penstock")
        broker.start()
        spark = _session(Path(directory))
        try:
            address = Address(*broker.address)
            if arguments.growth:
                results = growth(spark, address)
            else:
                results = _measure(spark, address, arguments, Path(directory))
        finally:
            spark.stop()
            broker.stop()
    path = store.save("spark", {"rows": arguments.rows, "rounds": arguments.rounds, "spark": results})
    print(f"written to {path}")
    return int(any(one.get("missed", False) for one in results.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=(*WORKS, STREAM), default=[*WORKS, STREAM])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--rows", type=int, default=2_000_000, help="of each topic but the largest, which has five times as many"
    )
    parser.add_argument("--stream-seconds", type=float, default=60.0)
    parser.add_argument("--growth", action="store_true", help="1, 10 and 50 million rows instead, on 7 GB of disk")
    return parser.parse_args()


def _session(directory: Path) -> SparkSession:
    jars = sorted(CONNECTOR.glob("*.jar"))
    if not jars:
        sys.exit("Spark's own connector is not there; make compat-setup fetches it")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.jars": ",".join([*map(str, jars), penstock_spark.jar()]),
        "spark.local.dir": str(directory),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _measure(
    spark: SparkSession, address: Address, arguments: argparse.Namespace, directory: Path
) -> dict[str, dict[str, float]]:
    rows, apart_ms = arguments.rows, 10
    wanted = {TOPICS[name] for name in arguments.only if name in TOPICS}
    first_ms = _fill(address, rows, apart_ms, wanted)
    timed_ms = fill(address, "timed", rows, partitions=2, apart_ms=1000, each_ms=1) if "timed" in wanted else 0
    frame = spark.range(0, rows, 1, 2).selectExpr("CAST(id AS STRING) AS key", "lpad(id, 100, '0') AS value").cache()
    world = World(spark, str(address), rows, first_ms, rows // 1000 * apart_ms, frame, timed_ms)
    results = {name: _one(world, name, arguments.rounds) for name in arguments.only if name != STREAM}
    _compare_with_whole(results)
    if STREAM in arguments.only:
        results[STREAM] = stream(spark, address, arguments.stream_seconds, directory)
    return results


def _fill(address: Address, rows: int, apart_ms: int, wanted: set[str]) -> int:
    """The topics that are wanted; the time of the first record of `two`."""
    first_ms = 0
    if "one" in wanted:
        fill(address, "one", rows, partitions=1)
    if "two" in wanted:
        first_ms = fill(address, "two", rows, partitions=2, apart_ms=apart_ms)
    if "many" in wanted:
        fill(address, "many", 5 * rows, partitions=2)
    if "json" in wanted:
        fill(address, "json", rows, partitions=2, json_values=True)
    if "few" in wanted:
        fill_few(address, "few", FEW)
    if "written" in wanted:
        fill(address, "written", 0, partitions=2)
    return first_ms


def _compare_with_whole(results: dict[str, dict[str, float]]) -> None:
    """Eleven rows against all rows of the same topic, through our source."""
    for name in (name for name in ELEVEN if name in results and WHOLE in results):
        times = results[name]["penstock_rows_per_s"] / results[WHOLE]["penstock_rows_per_s"]
        results[name] |= {"times_whole": times, "wanted_times_whole": OF_WHOLE, "missed": times < OF_WHOLE}
        print(f"{name:16} 1/{times:.0f} of the time of a full read (must 1/{OF_WHOLE:.0f})", flush=True)


def _one(world: World, name: str, rounds: int) -> dict[str, float]:
    found: dict[str, list[float]] = {THEIRS: [], OURS: []}
    is_short = name in SMALL or name in ELEVEN
    for number in range(-SHORT_WARM_UP if is_short else -1, rounds * SHORT_TIMES if is_short else rounds):
        for source in (THEIRS, OURS) if number % 2 == 0 else (OURS, THEIRS):
            rate = rows_per_second(world, name, source)
            if number >= 0:
                found[source].append(rate)
    theirs, ours = (statistics.median(found[source]) for source in (THEIRS, OURS))
    wanted = TARGETS.get(name)
    result = {"connector_rows_per_s": theirs, "penstock_rows_per_s": ours, "ratio": ours / theirs}
    if wanted is not None:
        result |= {"wanted": wanted, "missed": ours / theirs < wanted}
    if name in SMALL:
        times = [SMALL[name] / rate * 1000 for rate in (theirs, ours)]
        said = f"{name:14} connector {times[0]:6.0f}   penstock {times[1]:6.0f} ms      "
    else:
        said = f"{name:14} connector {theirs / 1e6:6.2f}   penstock {ours / 1e6:6.2f} M rows/s"
    said += f"   {ours / theirs:5.2f} ×"
    if name == "count":
        seconds = COUNT_ROWS / ours
        result |= {"seconds": seconds, "missed": result["missed"] or seconds > COUNT_S}
        said += f" ({seconds:.2f} s for 10 M, must {COUNT_S} s)"
    print(said + (f" (must {wanted} ×)" if wanted else ""), flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
