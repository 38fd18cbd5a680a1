"""A producer process of `penstock bench`, which passes messages to its clients as they become due."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.cli.bench.shapes import filling
from penstock.cli.bench.workers import DRAIN_TIMEOUT_S, STAMP, Reporter, Share, Signals, leave_interrupts_to_parent
from penstock.model.counted import counted

if TYPE_CHECKING:
    from penstock.cli.bench.scenario import Producers

CONNECT_TIMEOUT_S = 30.0
# Sizes and keys are drawn beforehand and reused: drawing them costs more than sending them.
_DRAWN = 4096


def run_producers(group: Producers, share: Share, signals: Signals) -> None:
    from confluent_kafka import Producer

    leave_interrupts_to_parent()
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
        reporter.now.error_text = f"{counted(left, 'message')} not acknowledged within {DRAIN_TIMEOUT_S:.0f} s"
    reporter.send(finished=True)


class _Producing:
    """Passes messages to the clients in turn, as they become due."""

    def __init__(self, group: Producers, share: Share, clients: list[Any], reporter: Reporter) -> None:
        chance = random.Random(share.seed)
        self._group, self._share, self._clients, self._reporter = group, share, clients, reporter
        sizes = [group.size.sample(chance) for _ in range(_DRAWN)]
        noise = filling(group.content, max(sizes) - STAMP.size, chance)
        # One object for all messages of one size; slices are copies, so with many sizes they are cut when needed.
        tails = {size: noise[: size - STAMP.size] for size in set(sizes)} if len(set(sizes)) <= 16 else {}
        self._tail: Callable[[int], bytes] = tails.__getitem__ if tails else lambda size: noise[: size - STAMP.size]
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
            client.produce(self._group.topic, STAMP.pack(time.time_ns()) + self._tail(size), key)
            self._sent += 1
        except BufferError:
            self._poll(0.01)

    def _poll(self, seconds: float) -> None:
        for client in self._clients:
            client.poll(seconds / len(self._clients))
        self._reporter.maybe_send()
