"""`python -m bench.age`: cost must not grow with age.

Producing to and fetching from a log of 1,000 segments, and a broker with 10,000 partitions, is compared with a fresh
one: short slices in turn, so that the machine's moods meet both, and the median of each. More than 20 % slower is a
failure. For segments both logs are in one broker and have the same configs; for partitions there are two brokers, each
idle while the other one works.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import store
from bench.fitness import LEAST
from bench.pump import Lane, pump, pump_count
from bench.reader import Reader
from bench.rivals import Penstock, end_in_order_on_sigterm
from bench.wire import Address, create_topic, produce_frame
from bench.work.produce import BATCH_MESSAGES, IN_FLIGHT, MESSAGE_BYTES

ALLOWED = 0.8
SLICES = 9
SEGMENT_BYTES = 2 << 20
# About 30 MB: more than a processor's caches hold, and a handful of segments.
FRESH_BATCHES = 300


@dataclass(frozen=True, slots=True)
class Log:
    """The first partition of a topic."""

    address: Address
    topic: str
    configs: dict[str, str]

    def make(self, batches: int, *, partitions: int = 1) -> Log:
        create_topic(self.address, self.topic, partitions, self.configs)
        lane = self._lane(BATCH_MESSAGES)
        pump_count(lane, batches)
        lane.close()
        return self

    def _lane(self, messages: int) -> Lane:
        frame = produce_frame(self.topic, 0, messages, MESSAGE_BYTES)
        return Lane(self.address, self.topic, [frame], IN_FLIGHT)

    def produce(self, messages: int, seconds: float) -> float:
        lane = self._lane(messages)
        pumped = pump(lane, seconds)
        lane.close()
        return pumped.answers / pumped.seconds

    def fetch(self, seconds: float) -> float:
        reader = Reader(self.address, self.topic, BATCH_MESSAGES)
        received, _ = reader.read(seconds)
        reader.close()
        return received / seconds


class Nursery:
    """Fresh logs: a new one for every slice, since one that is written to for a minute is no longer fresh."""

    def __init__(self, address: Address, configs: dict[str, str]) -> None:
        self._address, self._configs = address, configs
        self._numbers = itertools.count()

    def log(self) -> Log:
        return Log(self._address, f"bench-fresh-{next(self._numbers):04}", self._configs).make(FRESH_BATCHES)


def compare(title: str, nursery: Nursery, aged: Log, seconds: float) -> dict[str, float]:
    """Slices in turn. Fetching comes first: the single messages written later are not of the batches' size."""
    kinds: dict[str, Callable[[Log], float]] = {
        "fetch": lambda log: log.fetch(seconds),
        "produce_batches": lambda log: log.produce(BATCH_MESSAGES, seconds),
        "produce_single": lambda log: log.produce(1, seconds),
    }
    ratios = {}
    for name, measure in kinds.items():
        young: list[float] = []
        old: list[float] = []
        for number in range(SLICES):
            turns = [(young, nursery.log()), (old, aged)]
            for found, log in turns if number % 2 == 0 else reversed(turns):
                found.append(measure(log))
        fresh_median, aged_median = statistics.median(young), statistics.median(old)
        ratio = ratios[name] = aged_median / fresh_median
        verdict = "within 20 %" if ratio >= ALLOWED else "MISSED"
        figures = f"fresh {fresh_median:14,.0f}  aged {aged_median:14,.0f}  {ratio:.2f} ×"
        print(f"{title:18} {name:16} {figures}  {verdict}", flush=True)
    return ratios


def segments(directory: Path, count: int, seconds: float) -> dict[str, float]:
    broker = Penstock(directory)
    try:
        broker.start()
        configs = {"segment.bytes": str(SEGMENT_BYTES)}
        per_segment = SEGMENT_BYTES // (BATCH_MESSAGES * (MESSAGE_BYTES + 8))
        aged = Log(broker.address, "bench-aged", configs).make((count + 1) * per_segment)
        files = Counter(path.parent for path in (directory / "data").rglob("*.log"))
        print(f"the aged log has {max(files.values()):,} segments")
        return compare(f"{count:,} segments", Nursery(broker.address, configs), aged, seconds)
    finally:
        broker.stop()


def partitions(directory: Path, count: int, seconds: float) -> dict[str, float]:
    young, old = Penstock(directory / "young"), Penstock(directory / "old")
    try:
        young.start()
        old.start()
        # Making the topic writes to each of its partitions.
        aged = Log(old.address, "bench-aged", {}).make(FRESH_BATCHES, partitions=count)
        return compare(f"{count:,} partitions", Nursery(young.address, {}), aged, seconds)
    finally:
        young.stop()
        old.stop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.age", description=__doc__)
    parser.add_argument("--seconds", type=float, default=LEAST["age"]["seconds"], help="of a slice")
    parser.add_argument("--segments", type=int, default=LEAST["age"]["segments"])
    parser.add_argument("--partitions", type=int, default=LEAST["age"]["partitions"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        ratios = {
            "segments": segments(Path(directory) / "segments", options.segments, options.seconds),
            "partitions": partitions(Path(directory) / "partitions", options.partitions, options.seconds),
        }
    store.save("age", {"options": vars(options), "age": ratios})
    return int(any(ratio < ALLOWED for kinds in ratios.values() for ratio in kinds.values()))


if __name__ == "__main__":
    end_in_order_on_sigterm()
    sys.exit(main())
