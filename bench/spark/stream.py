"""A stream at a steady rate through the exactly-once sink: how long a record takes from topic to topic, committed.

Measuring begins when the query is warm: it has copied its first rows, so that Spark's workers run and their code is
loaded, and then ten seconds of the full rate.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyspark.sql import SparkSession

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.fetches import receive_fetch, send_fetch
from penstock.client.idempotent import IdempotentProducer
from penstock.client.topics import ensure_topic
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.records import batch_records
from penstock.model.topic_partition import TopicPartition

ROWS_PER_S = 100_000
BATCH_ROWS = 1000
WARM_UP_S = 10.0
COLD_S = 180.0
WANTED_P99_S = 2.0


def stream(spark: SparkSession, address: Address, seconds: float, directory: Path) -> dict[str, float]:
    with Cluster([address]) as cluster:
        for topic in ("stream-in", "stream-out"):
            ensure_topic(cluster, topic, partitions=2)
    started = time.monotonic()
    query = _query(spark, address, directory)
    stop = threading.Event()
    watch = _Watch(address, stop)
    feed = threading.Thread(target=_feed, args=(address, stop))
    watch.start()
    try:
        _send(address, BATCH_ROWS)
        if not watch.has_rows.wait(COLD_S):
            raise RuntimeError(f"no row has come in {COLD_S} s")
        cold = time.monotonic() - started
        feed.start()
        time.sleep(WARM_UP_S)
        watch.measure()
        time.sleep(seconds)
        found = watch.found()
        phases = _phases(query)
    finally:
        stop.set()
        if feed.is_alive():
            feed.join()
        watch.join()
        query.stop()
    p50, p99 = np.percentile(found.ages, [50, 99])
    held = found.rows / seconds
    print(f"{'':14} first rows after {cold:.1f} s; medians of a batch: {phases}", flush=True)
    said = f"{'stream':14} {held:,.0f} of {ROWS_PER_S:,} rows/s, end to end p50 {p50:.2f} s, p99 {p99:.2f} s"
    print(f"{said} (must {WANTED_P99_S} s)", flush=True)
    missed = bool(p99 > WANTED_P99_S or held < 0.95 * ROWS_PER_S)
    return {"rows_per_s": held, "p50_s": float(p50), "p99_s": float(p99), "wanted": WANTED_P99_S, "missed": missed}


def _query(spark: SparkSession, address: Address, directory: Path):  # type: ignore[no-untyped-def]
    broker = {"kafka.bootstrap.servers": str(address)}
    source = {"subscribe": "stream-in", "columns": "key,value", "startingOffsets": "earliest"}
    frame = spark.readStream.format("penstock").options(**broker, **source).load()
    writer = frame.writeStream.format("penstock").options(**broker, topic="stream-out")
    return writer.option("checkpointLocation", str(directory / "checkpoint")).start()


def _phases(query) -> str:  # type: ignore[no-untyped-def]
    """Where the time of a batch goes, in ms, as Spark says."""
    batches = [each["durationMs"] for each in query.recentProgress if each["numInputRows"]][-30:]
    names = sorted({name for each in batches for name in each})
    return ", ".join(f"{name} {np.median([each.get(name, 0) for each in batches]):.0f} ms" for name in names)


def _send(address: Address, count: int) -> None:
    """Some rows, at once."""
    with Cluster([address]) as cluster:
        producer = IdempotentProducer(cluster)
        for index in range(2):
            producer.send(TopicPartition("stream-in", index), _batch(count))
        producer.flush()


def _batch(rows: int) -> bytearray:
    """Each row's value is when it was sent."""
    value = b"%0100d" % time.time_ns()
    return build_batch([NewRecord(b"k", value)] * rows, timestamp=time.time_ns() // 1_000_000)


def _feed(address: Address, stop: threading.Event) -> None:
    """Batches of 1,000 rows, evenly in time."""
    with Cluster([address]) as cluster:
        producer, started, sent = IdempotentProducer(cluster), time.monotonic(), 0
        while not stop.is_set():
            producer.send(TopicPartition("stream-in", sent // BATCH_ROWS % 2), _batch(BATCH_ROWS))
            sent += BATCH_ROWS
            time.sleep(max(0.0, started + sent / ROWS_PER_S - time.monotonic()))
        producer.flush()


class _Found(NamedTuple):
    """The age of each batch that came, and how many rows that were."""

    ages: list[float]
    rows: int


class _Watch(threading.Thread):
    """Reads what is committed, as soon as it is: one age for each batch of the sink, that of its oldest row."""

    def __init__(self, address: Address, stop: threading.Event) -> None:
        super().__init__()
        self._address, self._over = address, stop
        self._seen: list[tuple[float, int]] = []
        self.has_rows = threading.Event()

    def measure(self) -> None:
        """From now on."""
        self._seen = []

    def found(self) -> _Found:
        seen = self._seen
        return _Found([age for age, _ in seen], sum(rows for _, rows in seen))

    def run(self) -> None:
        places = [TopicPartition("stream-out", index) for index in range(2)]
        positions = dict.fromkeys(places, 0)
        with Cluster([self._address]) as cluster:
            while not self._over.is_set():
                for place in places:
                    positions[place] = self._read(cluster, place, positions[place])

    def _read(self, cluster: Cluster, place: TopicPartition, position: int) -> int:
        leader = cluster.leader(place)
        sent = send_fetch(leader, place, position, committed=True, max_bytes=16 << 20, max_wait_ms=20)
        fetched = receive_fetch(sent)
        now = time.time_ns()
        for at, header in iter_headers(fetched.records):
            if header.next_offset <= position:
                continue
            position = header.next_offset
            if not header.is_control:
                first = next(iter(batch_records(fetched.records, header, at)))
                self._seen.append(((now - int(first.value or b"0")) / 1e9, header.record_count))
                self.has_rows.set()
        return position
