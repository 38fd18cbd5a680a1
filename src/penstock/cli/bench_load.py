"""The load of `penstock bench`: producer and consumer processes, and what they report.

Each worker is a process of its own, since one Python process can fill or empty a Kafka client only so fast. A worker
reports its counts and latencies four times a second through a queue; nothing is added up across a report twice.
Every message begins with the moment it was handed to the client, so a consumer knows how long it took end to end.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Event

REPORT_INTERVAL_S = 0.25
DRAIN_TIMEOUT_S = 30.0
# A consumer that is told to stop ends when nothing has come for so long; that time is not counted.
QUIET_S = 1.0
_STAMP = Struct(">q")
STAMP_BYTES = _STAMP.size
# Buckets grow by 5 %: a percentile is right to within that, and a histogram is a few hundred numbers.
_GROWTH = math.log(1.05)


class Latencies:
    """Durations in logarithmic buckets, cheap to add up across processes."""

    def __init__(self, counts: Counter[int] | None = None) -> None:
        self.counts: Counter[int] = Counter() if counts is None else counts

    def add(self, seconds: float) -> None:
        self.counts[int(math.log(max(seconds, 1e-6) / 1e-6) / _GROWTH)] += 1

    def quantile_ms(self, share: float) -> float | None:
        total = self.counts.total()
        if not total:
            return None
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= share * total:
                return math.exp((bucket + 0.5) * _GROWTH) * 1e-6 * 1000
        return None


@dataclass(slots=True)
class Report:
    """What one worker did since its last report."""

    role: str
    messages: int = 0
    size_bytes: int = 0
    errors: int = 0
    error_text: str = ""
    latencies: Counter[int] = field(default_factory=Counter)
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every worker needs to know."""

    client: dict[str, Any]
    topic: str
    message_bytes: int
    rate: float
    """Messages a second for each producer; 0 for as fast as it goes."""
    acks: str
    compression: str
    linger_ms: float
    batch_bytes: int

    def producer_options(self) -> dict[str, Any]:
        return {
            "acks": self.acks,
            "compression.type": self.compression,
            "linger.ms": self.linger_ms,
            "batch.size": self.batch_bytes,
            "queue.buffering.max.messages": 200_000,
        }


class _Reporter:
    def __init__(self, role: str, reports: Queue[Report]) -> None:
        self._role = role
        self._reports = reports
        self._due = time.monotonic() + REPORT_INTERVAL_S
        self._latencies = Latencies()
        self.now = Report(role, latencies=self._latencies.counts)

    def latency(self, seconds: float) -> None:
        self._latencies.add(seconds)

    def maybe_send(self) -> None:
        if time.monotonic() >= self._due:
            self.send()

    def send(self, *, finished: bool = False) -> None:
        self.now.finished = finished
        self._reports.put(self.now)
        self._latencies = Latencies()
        self.now = Report(self._role, latencies=self._latencies.counts)
        self._due = time.monotonic() + REPORT_INTERVAL_S


def run_producer(plan: Plan, reports: Queue[Report], stop: Event) -> None:
    from confluent_kafka import Producer

    reporter = _Reporter("producer", reports)
    size = plan.message_bytes

    def on_delivery(error: Any, message: Any) -> None:
        if error is not None:
            reporter.now.errors += 1
            reporter.now.error_text = error.str()
            return
        reporter.now.messages += 1
        reporter.now.size_bytes += size
        reporter.latency(message.latency())

    producer = Producer({**plan.producer_options(), **plan.client, "on_delivery": on_delivery})
    filling = os.urandom(max(0, size - STAMP_BYTES))
    started = time.monotonic()
    handed_over = 0
    while not stop.is_set():
        if plan.rate and handed_over > (time.monotonic() - started) * plan.rate:
            producer.poll(0.001)
            reporter.maybe_send()
            continue
        try:
            producer.produce(plan.topic, _STAMP.pack(time.time_ns()) + filling)
            handed_over += 1
        except BufferError:
            producer.poll(0.01)
        if handed_over % 100 == 0 or plan.rate:
            producer.poll(0)
            reporter.maybe_send()
    producer.flush(DRAIN_TIMEOUT_S)
    reporter.send(finished=True)


def run_consumer(plan: Plan, reports: Queue[Report], stop: Event, starts: dict[int, int]) -> None:
    """Reads its partitions from the given offsets, until it is told to stop and nothing more comes."""
    from confluent_kafka import Consumer, TopicPartition

    reporter = _Reporter("consumer", reports)
    consumer = Consumer({**plan.client, "group.id": "penstock-bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(plan.topic, partition, offset) for partition, offset in starts.items()])
    last_message = time.monotonic()
    while True:
        # One first: asking for many at once would wait for them, and that would be our latency, not the broker's.
        messages = consumer.consume(1, 0.1)
        if messages:
            messages += consumer.consume(1000, 0)
            last_message = time.monotonic()
        elif stop.is_set() and time.monotonic() - last_message > QUIET_S:
            break
        now = time.time_ns()
        for message in messages:
            error = message.error()
            value = message.value() or b""
            if error is not None:
                reporter.now.errors += 1
                reporter.now.error_text = error.str()
                continue
            reporter.now.messages += 1
            reporter.now.size_bytes += len(value)
            if len(value) >= STAMP_BYTES:
                reporter.latency((now - _STAMP.unpack_from(value)[0]) / 1e9)
        reporter.maybe_send()
    consumer.close()
    reporter.send(finished=True)
