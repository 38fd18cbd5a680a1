"""`python -m bench.beside TREE`: the broker of this tree beside that of another one, request by request.

Both brokers run at the same time, and the load goes to one and to the other in turn, a fraction of a second each: what
disturbs the machine disturbs both alike. Compared are the CPU time that the brokers used, as the kernel's scheduler
counts it, and the time that passed. A ratio above 1 means that this tree is better. The other tree needs a `.venv` of
its own (`make setup`).

Brokers and load share one core (`one_core`). On several, the kernel wakes a process on the core of the one that woke
it or on another, and keeps to that for as long as it likes; waking another core of a virtual machine takes 10 to 40 µs
of CPU time. Two brokers of the same tree then differed by up to a half in requests of 20 µs; here by a few per cent.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from bench import store
from bench.producers import Habit, Producer, keep_busy
from bench.pump import Lane, pump_all, pump_count
from bench.push.delivery import make_topics
from bench.reader import Reader
from bench.rivals import Penstock, end_in_order_on_sigterm
from bench.wire import (
    Wire,
    batch_of,
    create_topic,
    fetch_answer_head_bytes,
    fetch_frame,
    frame,
    produce_frame,
    produce_frame_of,
)
from bench.work.produce import BATCH_MESSAGES, IN_FLIGHT, MESSAGE_BYTES

LEAST: Final = 0.97
"""Of the other tree's figure; below it, the exit code is 1."""
PAIRS: Final = 40

Slice = Callable[[], int]
"""A short piece of work; how many requests or messages it was."""


class Beside(Penstock):
    """The broker of any tree, by the Python of its environment."""

    def __init__(self, directory: Path, tree: Path, **settings: str) -> None:
        super().__init__(directory, **settings)
        self._python = tree.resolve() / ".venv" / "bin" / "python"

    def command(self) -> list[str]:
        return [str(self._python), *super().command()[1:]]


class Unsynced(Beside):
    """One that leaves syncs to the system."""

    def __init__(self, directory: Path, tree: Path, **settings: str) -> None:
        super().__init__(directory, tree, **{"storage.flush": "os", **settings})


def _produce(topic: str, messages: int, requests: int, in_flight: int) -> Callable[[Beside, ExitStack], Slice]:
    def prepare(broker: Beside, stack: ExitStack) -> Slice:
        create_topic(broker.address, topic)
        lane = Lane(broker.address, topic, [produce_frame(topic, 0, messages, MESSAGE_BYTES)], in_flight)
        stack.callback(lane.close)

        def work() -> int:
            pump_count(lane, requests)
            return requests

        return work

    return prepare


def _produce_in_turn(broker: Beside, stack: ExitStack) -> Slice:
    """Requests that differ from the one before, so that each is parsed in full."""
    topic = "beside-turn"
    create_topic(broker.address, topic, 2)
    frames = [produce_frame(topic, partition, 1, MESSAGE_BYTES) for partition in range(2)]
    lane = Lane(broker.address, topic, frames, IN_FLIGHT)
    stack.callback(lane.close)

    def work() -> int:
        pump_count(lane, 500)
        return 500

    return work


def _produce_wide(broker: Beside, stack: ExitStack) -> Slice:
    """Four connections, and one message for each of 250 partitions a request, as the Java client sends it."""
    topic, lanes, partitions = "beside-wide", 4, 1_000
    create_topic(broker.address, topic, partitions)
    batch = batch_of(1, MESSAGE_BYTES)
    requests = (produce_frame_of(topic, dict.fromkeys(range(n, partitions, lanes), batch)) for n in range(lanes))
    opened = [Lane(broker.address, topic, [request], 1, partitions // lanes) for request in requests]
    for lane in opened:
        stack.callback(lane.close)
    return lambda: pump_all(opened, 0.3).answers


def _fetch_large(broker: Beside, stack: ExitStack) -> Slice:
    topic = "beside-large"
    _produce(topic, BATCH_MESSAGES, 1_000, IN_FLIGHT)(broker, stack)()
    reader = Reader(broker.address, topic, BATCH_MESSAGES)
    stack.callback(reader.close)
    return lambda: len(reader.read(0.15)[1])


def _fetch_small(broker: Beside, stack: ExitStack) -> Slice:
    """One message a request, from memory."""
    topic = "beside-small"
    _produce(topic, 1, 10, 1)(broker, stack)()
    wire = stack.enter_context(Wire(broker.address))
    request = fetch_frame(topic, 0, 5, max_bytes=1, max_wait_ms=0, min_bytes=1)
    head_bytes = fetch_answer_head_bytes(topic) - 4

    def work() -> int:
        for _ in range(1_000):
            wire.send(request)
            if len(wire.receive()) <= head_bytes:
                raise RuntimeError("a fetch was answered without data")
        return 1_000

    return work


def _ask(api_key: int, version: int, body: bytes) -> Callable[[Beside, ExitStack], Slice]:
    request = frame(api_key, version, body)

    def prepare(broker: Beside, stack: ExitStack) -> Slice:
        create_topic(broker.address, "beside-small")
        wire = stack.enter_context(Wire(broker.address))

        def work() -> int:
            for _ in range(500):
                wire.send(request)
                wire.receive()
            return 500

        return work

    return prepare


def _string(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def _offset_commit() -> bytes:
    rows = b"".join(partition.to_bytes(4, "big") + bytes(7) + b"\x05" + _string("") for partition in (0,))
    head = _string("beside") + (-1).to_bytes(4, "big", signed=True) + _string("") + (-1).to_bytes(8, "big", signed=True)
    return head + (1).to_bytes(4, "big") + _string("beside-small") + (1).to_bytes(4, "big") + rows


def _publish(broker: Beside, stack: ExitStack) -> Slice:
    """Published and awaited one at a time, and delivered to a consumer that acknowledges each."""
    from penstock import BrokerClient

    name = "beside-push"
    make_topics(broker.address[1], name)
    client = stack.enter_context(BrokerClient(*broker.address, client_id="beside"))
    client.create_subscription(name, name)
    received: list[None] = []
    client.subscribe_to_subscription(name, lambda message: received.append(None))
    publisher = stack.enter_context(BrokerClient(*broker.address, client_id="beside-publisher"))

    def work() -> int:
        before = len(received)
        for _ in range(200):
            publisher.publish(name, bytes(MESSAGE_BYTES))
        while len(received) < before + 200:
            time.sleep(0.001)
        return 200

    return work


def _deliver(broker: Beside, stack: ExitStack) -> Slice:
    """Messages of large batches to a consumer that acknowledges each."""
    from penstock import BrokerClient

    name = "beside-deliver"
    make_topics(broker.address[1], name)
    lane = Lane(broker.address, name, [produce_frame(name, 0, 100, MESSAGE_BYTES)], IN_FLIGHT)
    stack.callback(lane.close)
    client = stack.enter_context(BrokerClient(*broker.address, client_id="beside-deliver"))
    client.create_subscription(name, name)
    received: list[None] = []
    client.subscribe_to_subscription(name, lambda message: received.append(None))

    def work() -> int:
        before = len(received)
        pump_count(lane, 100)
        last = 0
        while not last or len(received) < last:
            last = before + 10_000
            time.sleep(0.001)
        time.sleep(0.02)
        return len(received) - before

    return work


def _transactions(count: int) -> Callable[[Beside, ExitStack], Slice]:
    """So many producers at once, each with transactions of one batch of ten messages."""

    def prepare(broker: Beside, stack: ExitStack) -> Slice:
        topic = f"beside-transactions-{count}"
        create_topic(broker.address, topic, count)
        habit = Habit(messages=10, message_bytes=MESSAGE_BYTES)
        producers = [Producer(broker.address, topic, number, habit, f"{topic}-{number}") for number in range(count)]
        for producer in producers:
            stack.callback(producer.close)
        return lambda: keep_busy(producers, 0.2).transactions

    return prepare


def _connect(broker: Beside, stack: ExitStack) -> Slice:
    """A connection with one request."""
    request = frame(18, 0, b"")

    def work() -> int:
        for _ in range(200):
            with Wire(broker.address) as wire:
                wire.send(request)
                wire.receive()
        return 200

    return work


WORKS: dict[str, Callable[[Beside, ExitStack], Slice]] = {
    "produce_batches": _produce("beside-batches", BATCH_MESSAGES, 100, IN_FLIGHT),
    "produce_single": _produce("beside-single", 1, 500, IN_FLIGHT),
    "acknowledge": _produce("beside-ack", 1, 600, 1),
    "produce_in_turn": _produce_in_turn,
    "produce_wide": _produce_wide,
    "fetch_large": _fetch_large,
    "fetch_small": _fetch_small,
    "offset_commit": _ask(8, 2, _offset_commit()),
    "api_versions": _ask(18, 0, b""),
    "connect": _connect,
    "transaction": _transactions(1),
    "transactions": _transactions(16),
    "publish": _publish,
    "deliver": _deliver,
}


class Figures(NamedTuple):
    """Of one slice, per request."""

    cpu_us: float
    wall_us: float


def _measured(broker: Beside, work: Slice) -> Figures:
    cpu, started = broker.cpu_ns(), time.perf_counter()
    count = max(work(), 1)
    wall = time.perf_counter() - started
    return Figures((broker.cpu_ns() - cpu) / 1000 / count, wall * 1e6 / count)


@contextmanager
def running(broker: Beside) -> Iterator[Beside]:
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


@contextmanager
def one_core() -> Iterator[None]:
    """This process and those that it starts run on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def compare(name: str, other: Beside, own: Beside, pairs: int) -> dict[str, float]:
    with ExitStack() as stack:
        slices = [(broker, WORKS[name](broker, stack)) for broker in (other, own)]
        for broker, work in slices * 2:
            _measured(broker, work)
        taken: dict[Beside, list[Figures]] = {other: [], own: []}
        for number in range(pairs):
            for broker, work in slices if number % 2 == 0 else reversed(slices):
                taken[broker].append(_measured(broker, work))
    their_cpu, our_cpu = (_lower_quartile([one.cpu_us for one in taken[broker]]) for broker in (other, own))
    their_wall, our_wall = (_lower_quartile([one.wall_us for one in taken[broker]]) for broker in (other, own))
    return {
        "their_cpu_us": their_cpu,
        "our_cpu_us": our_cpu,
        "cpu_ratio": their_cpu / our_cpu,
        "wall_ratio": their_wall / our_wall,
    }


def _lower_quartile(values: list[float]) -> float:
    """Slices that were disturbed are the upper ones."""
    return statistics.quantiles(values, n=4)[0]


def _memory(other: Beside, own: Beside) -> str:
    return f"{other.memory()['rss_mb']:6.1f} {own.memory()['rss_mb']:6.1f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__)
    parser.add_argument("tree", type=Path, help="the other tree, with a .venv of its own")
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=WORKS, default=list(WORKS), help=", ".join(WORKS))
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of slices, one for each tree")
    arguments = parser.parse_args()
    end_in_order_on_sigterm()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-beside-") as directory, one_core(), ExitStack() as stack:
        trees = {"other": arguments.tree, "own": Path(__file__).parents[1]}
        other, own = (
            stack.enter_context(running(Beside(Path(directory) / kind, tree))) for kind, tree in trees.items()
        )
        print(
            f"{'work':18} {'theirs':>10} {'ours':>10}  CPU ratio  wall ratio    memory after it   (CPU in µs a request)"
        )
        print(f"{'at the start':42} {'':21} {_memory(other, own)}")
        for name in arguments.only:
            one = found[name] = compare(name, other, own, arguments.pairs)
            low = "" if one["cpu_ratio"] >= LEAST else "  BELOW"
            print(
                f"{name:18} {one['their_cpu_us']:10.2f} {one['our_cpu_us']:10.2f} {one['cpu_ratio']:10.3f}"
                f" {one['wall_ratio']:11.3f}   {_memory(other, own)}{low}",
                flush=True,
            )
    print(
        f"written to {store.save('beside', {'tree': str(arguments.tree), 'pairs': arguments.pairs, 'beside': found})}"
    )
    return int(any(one["cpu_ratio"] < LEAST for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
