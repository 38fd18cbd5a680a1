"""A stream at a steady rate through the exactly-once sink: how long a record takes from topic to topic, committed."""

from __future__ import annotations

import threading
import time
from pathlib import Path

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
WANTED_P99_S = 2.0


def stream(spark: SparkSession, address: Address, seconds: float, directory: Path) -> dict[str, float]:
    with Cluster([address]) as cluster:
        for topic in ("stream-in", "stream-out"):
            ensure_topic(cluster, topic, partitions=2)
    query = _query(spark, address, directory)
    stop = threading.Event()
    watch = _Watch(address, stop)
    feed = threading.Thread(target=_feed, args=(address, stop))
    watch.start()
    feed.start()
    try:
        time.sleep(WARM_UP_S + seconds)
    finally:
        stop.set()
        feed.join()
        watch.join()
        query.stop()
    p50, p99 = np.percentile(watch.ages[watch.warm :], [50, 99])
    held = watch.rows / seconds
    said = f"{'stream':14} {held:,.0f} of {ROWS_PER_S:,} rows/s, end to end p50 {p50:.2f} s, p99 {p99:.2f} s"
    print(f"{said} (must {WANTED_P99_S} s)", flush=True)
    missed = bool(p99 > WANTED_P99_S or held < 0.95 * ROWS_PER_S)
    return {"rows_per_s": held, "p50_s": float(p50), "p99_s": float(p99), "wanted": WANTED_P99_S, "missed": missed}


def _query(spark: SparkSession, address: Address, directory: Path):  # type: ignore[no-untyped-def]
    broker = {"kafka.bootstrap.servers": str(address)}
    frame = spark.readStream.format("penstock").options(**broker, subscribe="stream-in", columns="key,value").load()
    writer = frame.writeStream.format("penstock").options(**broker, topic="stream-out")
    return writer.option("checkpointLocation", str(directory / "checkpoint")).start()


def _feed(address: Address, stop: threading.Event) -> None:
    """Batches of 1,000 rows, evenly in time; each row's value is when it was sent."""
    with Cluster([address]) as cluster:
        producer, started, sent = IdempotentProducer(cluster), time.monotonic(), 0
        while not stop.is_set():
            value = b"%0100d" % time.time_ns()
            batch = build_batch([NewRecord(b"k", value)] * BATCH_ROWS, timestamp=time.time_ns() // 1_000_000)
            producer.send(TopicPartition("stream-in", sent // BATCH_ROWS % 2), batch)
            sent += BATCH_ROWS
            time.sleep(max(0.0, started + sent / ROWS_PER_S - time.monotonic()))
        producer.flush()


class _Watch(threading.Thread):
    """Reads what is committed, as soon as it is: one age for each batch of the sink."""

    def __init__(self, address: Address, stop: threading.Event) -> None:
        super().__init__()
        self._address, self._over = address, stop
        self.ages: list[float] = []
        self.rows = 0
        self.warm = 0

    def run(self) -> None:
        places = [TopicPartition("stream-out", index) for index in range(2)]
        positions = dict.fromkeys(places, 0)
        warm_at = time.monotonic() + WARM_UP_S
        with Cluster([self._address]) as cluster:
            while not self._over.is_set():
                for place in places:
                    positions[place] = self._read(cluster, place, positions[place], warm_at)

    def _read(self, cluster: Cluster, place: TopicPartition, position: int, warm_at: float) -> int:
        leader = cluster.leader(place)
        sent = send_fetch(leader, place, position, committed=True, max_bytes=16 << 20, max_wait_ms=20)
        fetched = receive_fetch(sent)
        now, is_warm = time.time_ns(), time.monotonic() >= warm_at
        if not is_warm:
            self.warm = len(self.ages)
        for at, header in iter_headers(fetched.records):
            if header.next_offset <= position:
                continue
            position = header.next_offset
            if not header.is_control:
                self.rows += header.record_count * is_warm
                first = next(iter(batch_records(fetched.records, header, at)))
                self.ages.append((now - int(first.value or b"0")) / 1e9)
        return position
