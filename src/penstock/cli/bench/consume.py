"""A consumer process of `penstock bench`, which reads messages and measures their age."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from penstock.cli.bench.workers import STAMP, Reporter, Share, Signals, leave_interrupts_to_parent

if TYPE_CHECKING:
    from penstock.cli.bench.scenario import Consumers

# Time limit for the first assignment of a consumer group; a member that gets no partition begins without one.
ASSIGNMENT_TIMEOUT_S = 10.0
# After the signal to stop, a consumer ends when nothing has arrived for this long; that time is not counted.
QUIET_S = 1.0


def run_consumers(group: Consumers, share: Share, signals: Signals) -> None:
    leave_interrupts_to_parent()
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
    """Begin: consumers that start with the load are assigned before it; those that start later join at their start."""
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
    """Wait until the group has settled, as far as this worker can see; members may outnumber partitions."""
    deadline = time.monotonic() + ASSIGNMENT_TIMEOUT_S
    while time.monotonic() < deadline and not any(client.assignment() for client in clients):
        for client in clients:
            client.poll(0.05)


def _take(clients: list[Any], most: int, reporter: Reporter) -> int:
    """Messages that have arrived. With several clients none may wait while another one has some."""
    found = 0
    wait = 0.1 if len(clients) == 1 else 0.0
    for client in clients:
        # One message first: a request for many would wait for them, and add our own latency to the broker's.
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
            if len(value) >= STAMP.size:
                reporter.latency((now - STAMP.unpack_from(value)[0]) / 1e9)
        found += len(messages)
    return found if found or wait else _wait(0.002)
