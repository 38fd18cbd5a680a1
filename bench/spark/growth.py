"""The same query over 1, 10 and 50 million rows: rows per second, and the memory of what computes.

One topic that grows, all columns, as in the other works. What a query costs over nothing (planning, starting tasks) is
measured, too, and left out of the rate: otherwise small topics would look slow. They look so all the same, since a
second of work has hardly begun before it ends: what counts is that a larger topic is not read more slowly.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations

import psutil
from pyspark.sql import DataFrame, SparkSession

from bench.spark.topics import fill
from bench.spark.works import OURS, run
from penstock.client.address import Address

MILLIONS = (1, 10, 50)
ROUNDS = 3
TOPIC = "growing"
WORSE_MAX = 0.2


class _Memory(threading.Thread):
    """The most that any Python worker had, and the JVM, in MB, while this ran."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self.worker = 0.0
        self.jvm = 0.0

    def run(self) -> None:
        while not self._over.wait(0.1):
            for process in psutil.Process().children(recursive=True):
                try:
                    size, name = process.memory_info().rss / 1e6, process.name()
                    if name == "java":
                        self.jvm = max(self.jvm, size)
                    elif "pyspark.daemon" in process.cmdline():
                        self.worker = max(self.worker, size)
                except psutil.Error:
                    pass

    def stop(self) -> None:
        self._over.set()
        self.join()


@contextmanager
def _watched() -> Iterator[_Memory]:
    memory = _Memory()
    memory.start()
    try:
        yield memory
    finally:
        memory.stop()


def growth(spark: SparkSession, address: Address) -> dict[str, dict[str, float]]:
    results: dict[str, dict[str, float]] = {}
    there = 0
    for millions in MILLIONS:
        fill(address, TOPIC, millions * 1_000_000 - there, partitions=2)
        there = millions * 1_000_000
        run(_rows(spark, address, there))  # once to warm up
        fixed = statistics.median(_seconds(_rows(spark, address, 0)) for _ in range(ROUNDS))
        with _watched() as memory:
            took = statistics.median(_seconds(_rows(spark, address, there)) for _ in range(ROUNDS))
        rate = there / max(0.001, took - fixed)
        results[f"growth_{millions}M"] = {
            "rows": there, "seconds": took, "fixed_s": fixed, "rows_per_s": rate,
            "worker_mb": memory.worker, "jvm_mb": memory.jvm,
        }  # fmt: skip
        text = f"{took:6.2f} s, of which {fixed:.2f} s for any query: {rate / 1e6:5.2f} M rows/s"
        print(f"{millions:3} M rows     {text}, worker {memory.worker:.0f} MB, JVM {memory.jvm:.0f} MB", flush=True)
    results["growth"] = _judged(list(results.values()))
    return results


def _judged(results: list[dict[str, float]]) -> dict[str, float]:
    """No topic is read more slowly than any smaller one, or with more memory."""
    rates, sizes = ([each[name] for each in results] for name in ("rows_per_s", "worker_mb"))
    slower = max(0.0, 1 - min(after / before for before, after in combinations(rates, 2)))
    larger = max(0.0, max(after / before for before, after in combinations(sizes, 2)) - 1)
    said = f"a larger topic is {100 * slower:.0f} % slower, with {100 * larger:.0f} % more memory"
    print(f"{'growth':14} {said} (must {100 * WORSE_MAX:.0f} %)", flush=True)
    missed = max(slower, larger) > WORSE_MAX
    return {"slower": slower, "larger": larger, "wanted": WORSE_MAX, "missed": missed}


def _rows(spark: SparkSession, address: Address, rows: int) -> DataFrame:
    """The first so many, of two partitions."""
    ends = f'{{"{TOPIC}": {{"0": {rows // 2}, "1": {rows // 2}}}}}'
    frame = spark.read.format(OURS).option("kafka.bootstrap.servers", str(address)).option("subscribe", TOPIC)
    return frame.option("endingOffsets", ends).load()


def _seconds(frame: DataFrame) -> float:
    started = time.perf_counter()
    run(frame)
    return time.perf_counter() - started
