"""`python -m bench.age`: cost must not grow with age.

Producing to and fetching from a log of 1,000 segments, and a broker with 10,000 partitions, is compared with a fresh
one: short slices in turn, so that the machine's moods meet both, and the median of each. More than 20 % slower is a
failure. For segments both logs are in one broker and have the same configs; for partitions there are two brokers, each
idle while the other one works.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.machine import machine
from bench.pump import Lane, pump, pump_count
from bench.reader import Reader
from bench.report import RESULTS
from bench.rivals import Penstock
from bench.wire import Address, create_topic, produce_frame
from bench.work.produce import BATCH_MESSAGES, IN_FLIGHT, MESSAGE_BYTES

ALLOWED = 0.8
SLICES = 9
SEGMENT_BYTES = 1 << 20
FRESH_BATCHES = 100


@dataclass(frozen=True, slots=True)
class Log:
    """One partition of a broker that is old or fresh."""

    address: Address
    topic: str

    def make(self, batches: int, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        create_topic(self.address, self.topic, partitions, configs)
        lane = self.lane(BATCH_MESSAGES)
        pump_count(lane, batches)
        lane.close()

    def lane(self, messages: int) -> Lane:
        frame = produce_frame(self.topic, 0, messages, MESSAGE_BYTES)
        return Lane(self.address, self.topic, [frame], IN_FLIGHT)

    def produce(self, messages: int, seconds: float) -> float:
        lane = self.lane(messages)
        pumped = pump(lane, seconds)
        lane.close()
        return pumped.answers / pumped.seconds

    def fetch(self, seconds: float) -> float:
        reader = Reader(self.address, self.topic, BATCH_MESSAGES)
        received, _ = reader.read(seconds)
        reader.close()
        return received / seconds


def compare(title: str, fresh: Log, aged: Log, seconds: float) -> dict[str, float]:
    """Slices in turn. Fetching comes first: the single messages written later are not of the batches' size."""
    kinds: dict[str, Callable[[Log], float]] = {
        "fetch": lambda log: log.fetch(seconds),
        "produce_batches": lambda log: log.produce(BATCH_MESSAGES, seconds),
        "produce_single": lambda log: log.produce(1, seconds),
    }
    ratios = {}
    for name, measure in kinds.items():
        slices: dict[Log, list[float]] = {fresh: [], aged: []}
        for number in range(SLICES):
            for log in (fresh, aged) if number % 2 == 0 else (aged, fresh):
                slices[log].append(measure(log))
        young, old = statistics.median(slices[fresh]), statistics.median(slices[aged])
        ratios[name] = old / young
        verdict = "within 20 %" if ratios[name] >= ALLOWED else "MISSED"
        print(
            f"{title:22} {name:16} fresh {young:14,.0f}  aged {old:14,.0f}  {ratios[name]:.2f} ×  {verdict}", flush=True
        )
    return ratios


def segments(directory: Path, count: int, seconds: float) -> dict[str, float]:
    broker = Penstock(directory)
    try:
        broker.start()
        configs = {"segment.bytes": str(SEGMENT_BYTES)}
        fresh, aged = Log(broker.address, "bench-fresh"), Log(broker.address, "bench-aged")
        fresh.make(FRESH_BATCHES, configs=configs)
        per_segment = SEGMENT_BYTES // (BATCH_MESSAGES * (MESSAGE_BYTES + 8))
        aged.make(count * per_segment, configs=configs)
        found = len(list(directory.glob("data/**/*bench-aged*/*.log")))
        print(f"the aged log has {found:,} segment files")
        return compare(f"{count:,} segments", fresh, aged, seconds)
    finally:
        broker.stop()


def partitions(directory: Path, count: int, seconds: float) -> dict[str, float]:
    young, old = Penstock(directory / "young"), Penstock(directory / "old")
    try:
        young.start()
        old.start()
        fresh, aged = Log(young.address, "bench-fresh"), Log(old.address, "bench-aged")
        fresh.make(FRESH_BATCHES)
        aged.make(FRESH_BATCHES, partitions=count)  # making it writes to each of them
        return compare(f"{count:,} partitions", fresh, aged, seconds)
    finally:
        young.stop()
        old.stop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.age", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a slice")
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        ratios = {
            "segments": segments(Path(directory) / "segments", options.segments, options.seconds),
            "partitions": partitions(Path(directory) / "partitions", options.partitions, options.seconds),
        }
    now = datetime.now(UTC)
    result = {"at": now.isoformat(timespec="seconds"), "machine": machine(), "age": ratios}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"age-{now:%Y-%m-%d-%H%M%S}.json").write_text(json.dumps(result, indent=2) + "\n")
    return int(any(ratio < ALLOWED for kinds in ratios.values() for ratio in kinds.values()))


if __name__ == "__main__":
    sys.exit(main())
