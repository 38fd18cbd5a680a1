"""The load of `penstock bench`: producer and consumer processes, and what they report.

Each worker is a process of its own, since one Python process can fill or empty a Kafka client only so fast. A worker
makes its clients, says that it is ready, and begins when all are. It reports its counts and latencies four times a
second through a queue; nothing is added up across a report twice. Every message begins with the moment it was handed
to the client, so a consumer knows how long it took end to end.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any

from penstock.cli.bench_latencies import Latencies
from penstock.cli.bench_shapes import filling

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

    from penstock.cli.bench_scenario import Consumers, Producers

REPORT_INTERVAL_S = 0.25
DRAIN_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 30.0
# Of a consumer group; a member that gets no partition begins without.
ASSIGNMENT_TIMEOUT_S = 10.0
# A consumer that is told to stop ends when nothing has come for so long; that time is not counted.
QUIET_S = 1.0
# Sizes and keys are drawn beforehand and used again and again: drawing them costs more than sending them.
_DRAWN = 4096
_STAMP = Struct(">q")


@dataclass(slots=True)
class Report:
    """What one worker did since its last report."""

    group: str
    at: float = 0.0
    messages: int = 0
    size_bytes: int = 0
    errors: int = 0
    error_text: str = ""
    latencies: Counter[int] = field(default_factory=Counter)
    ready: bool = False
    finished: bool = False
    unsent: int = 0
    """Messages that were due and could not be handed to the client in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What parent and workers tell each other."""

    reports: Queue[Report]
    go: Event
    stop: Event
    began: Synchronized[float]
    """On the machine's monotonic clock, which all processes share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One worker's part of a group."""

    client: dict[str, Any]
    clients: int
    part: float
    """Of the group's rate."""
    seconds: float
    seed: int
    partitions: tuple[dict[int, int], ...] = ()
    """For consumers that share by hand: partitions and first offsets of each client."""
    from_start: bool = False
    drain: bool = False
    """Whether to go on until nothing more comes: after producers have ended there is an end."""


class Reporter:
    def __init__(self, group: str, signals: Signals) -> None:
        self._group = group
        self._signals = signals
        self._due = 0.0
        self._latencies = Latencies()
        self.now = Report(group, latencies=self._latencies.counts)

    def latency(self, seconds: float) -> None:
        self._latencies.add(seconds)

    def failed(self, error: Any) -> None:
        self.now.errors += 1
        self.now.error_text = error.str()

    def maybe_send(self) -> None:
        if time.monotonic() >= self._due:
            self.send()

    def send(self, *, ready: bool = False, finished: bool = False) -> None:
        self.now.ready, self.now.finished, self.now.at = ready, finished, time.monotonic()
        self._signals.reports.put(self.now)
        self._latencies = Latencies()
        self.now = Report(self._group, latencies=self._latencies.counts)
        self._due = time.monotonic() + REPORT_INTERVAL_S

    def ready(self, start: float) -> float:
        """Wait for the others, and for the group's own time; the moment it began."""
        self.send(ready=True)
        self._signals.go.wait()
        begin = float(self._signals.began.value) + start
        time.sleep(max(0.0, begin - time.monotonic()))
        return begin


def run_producers(group: Producers, share: Share, signals: Signals) -> None:
    from confluent_kafka import Producer

    reporter = Reporter(group.name, signals)

    def on_delivery(error: Any, message: Any) -> None:
        if error is not None:
            reporter.failed(error)
            return
        reporter.now.messages += 1
        reporter.now.size_bytes += len(message)
        reporter.latency(message.latency())

    config = {**group.client_options(), **share.client, "on_delivery": on_delivery}
    clients = [Producer(config) for _ in range(share.clients)]
    for client in clients:
        client.list_topics(group.topic, timeout=CONNECT_TIMEOUT_S)  # connects
    _Producing(group, share, clients, reporter).run(reporter.ready(group.start))
    left = sum(client.flush(DRAIN_TIMEOUT_S) for client in clients)
    if left:
        reporter.now.errors += left
        reporter.now.error_text = f"{left} messages were not acknowledged within {DRAIN_TIMEOUT_S:.0f} s"
    reporter.send(finished=True)


class _Producing:
    """Hands messages to the clients in turn, as they become due."""

    def __init__(self, group: Producers, share: Share, clients: list[Any], reporter: Reporter) -> None:
        chance = random.Random(share.seed)
        self._group, self._share, self._clients, self._reporter = group, share, clients, reporter
        sizes = [group.size.sample(chance) for _ in range(_DRAWN)]
        noise = filling(group.content, max(sizes) - _STAMP.size, chance)
        # One object for all messages of one size; slices share nothing, so many sizes are cut when they are needed.
        tails = {size: noise[: size - _STAMP.size] for size in set(sizes)} if len(set(sizes)) <= 16 else {}
        self._tail: Callable[[int], bytes] = tails.__getitem__ if tails else lambda size: noise[: size - _STAMP.size]
        self._drawn = list(zip(sizes, group.keys.sample(chance, _DRAWN), strict=True))
        self._sent = 0

    def run(self, begin: float) -> None:
        limited, paced = self._group.rate.limited, 0.0
        end = begin + self._share.seconds
        while (now := time.monotonic()) < end:
            if limited:
                paced = self._group.rate.due(now - begin, self._share.seconds) * self._share.part
                if self._sent >= paced:
                    self._poll(0.001)
                    continue
            self._one()
            if self._sent % 100 == 0:
                self._poll(0)
        if limited:
            due = self._group.rate.due(self._share.seconds, self._share.seconds) * self._share.part
            self._reporter.now.unsent += max(0, int(due) - self._sent)

    def _one(self) -> None:
        size, key = self._drawn[self._sent % _DRAWN]
        client = self._clients[self._sent % len(self._clients)]
        try:
            client.produce(self._group.topic, _STAMP.pack(time.time_ns()) + self._tail(size), key)
            self._sent += 1
        except BufferError:
            self._poll(0.01)

    def _poll(self, seconds: float) -> None:
        for client in self._clients:
            client.poll(seconds / len(self._clients))
        self._reporter.maybe_send()


def run_consumers(group: Consumers, share: Share, signals: Signals) -> None:
    reporter = Reporter(group.name, signals)
    begin, clients = _begin(group, share, reporter)
    read = 0
    last_message = time.monotonic()
    while True:
        now = time.monotonic()
        if group.duration is not None and now - begin > share.seconds:
            break
        if signals.stop.is_set() and not (share.drain and now - last_message < QUIET_S):
            break
        allowance = 1000
        if group.rate.limited:
            allowance = min(1000, int(group.rate.due(now - begin, share.seconds) * share.part) - read)
        found = _take(clients, allowance, reporter) if allowance > 0 else _wait(0.001)
        if found:
            read += found
            last_message = now
        reporter.maybe_send()
    for client in clients:
        client.close()
    reporter.send(finished=True)


def _begin(group: Consumers, share: Share, reporter: Reporter) -> tuple[float, list[Any]]:
    """Consumers that are there from the start wait for the first message; those that come later join then."""
    if group.start:
        begin = reporter.ready(group.start)
        return begin, [_consumer(group, share, number) for number in range(share.clients)]
    clients = [_consumer(group, share, number) for number in range(share.clients)]
    if group.group is not None:
        _await_assignments(clients)
    return reporter.ready(0.0), clients


def _wait(seconds: float) -> int:
    time.sleep(seconds)
    return 0


def _consumer(group: Consumers, share: Share, number: int) -> Any:
    from confluent_kafka import Consumer, TopicPartition

    reset = "earliest" if share.from_start else group.position
    config = {"group.id": group.group or "penstock-bench", "enable.auto.commit": False, "auto.offset.reset": reset}
    client = Consumer({**config, **share.client})
    if group.group is None:
        starts = share.partitions[number]
        client.assign([TopicPartition(group.topic, partition, offset) for partition, offset in starts.items()])
    else:
        client.subscribe([group.topic])
    return client


def _await_assignments(clients: list[Any]) -> None:
    """Until the group has settled, as far as this worker sees; members may outnumber partitions."""
    deadline = time.monotonic() + ASSIGNMENT_TIMEOUT_S
    while time.monotonic() < deadline and not any(client.assignment() for client in clients):
        for client in clients:
            client.poll(0.05)


def _take(clients: list[Any], most: int, reporter: Reporter) -> int:
    """What has come in; with several clients none may wait while another one has something."""
    found = 0
    wait = 0.1 if len(clients) == 1 else 0.0
    for client in clients:
        # One first: asking for many at once would wait for them, and that would be our latency, not the broker's.
        messages = client.consume(1, wait)
        if messages and most > 1:
            messages += client.consume(most - 1, 0)
        now = time.time_ns()
        for message in messages:
            if message.error() is not None:
                reporter.failed(message.error())
                continue
            value = message.value() or b""
            reporter.now.messages += 1
            reporter.now.size_bytes += len(value)
            if len(value) >= _STAMP.size:
                reporter.latency((now - _STAMP.unpack_from(value)[0]) / 1e9)
        found += len(messages)
    return found if found or wait else _wait(0.002)
