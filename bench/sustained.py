"""`python -m bench.sustained`: 400,000 messages a second for ten minutes, and what that costs.

The load comes at its own pace (open loop): batches of 1,000 × 100 B are due at fixed moments, whether or not earlier
ones are answered, and latency counts from the moment a batch was due. So a broker that stops for a second shows in the
percentiles, and one that cannot keep up shows as messages that were due and never sent or acknowledged.
"""

from __future__ import annotations

import argparse
import select
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench import store
from bench.fitness import LEAST
from bench.pump import ANSWER_TIMEOUT_S, Lane
from bench.rivals import Kafka, Penstock, Rival, end_in_order_on_sigterm
from bench.spread import Figures, spread
from bench.wire import create_topic, produce_frame
from bench.work.produce import MESSAGE_BYTES

TOPIC = "bench-sustained"
BATCH_MESSAGES = 1000
# As many as a client may have under way; beyond them the load waits, and its latency grows with it.
UNANSWERED_MAX = 64
# Ten minutes are 25 GB: retention runs meanwhile, as it would.
CONFIGS = {"retention.bytes": str(4 << 30), "segment.bytes": str(256 << 20)}
# A second that was short of the rate by more than this counts as a slow one.
TOLERANCE = 0.05


class OpenLoop:
    """Sends what is due and takes what is answered, on one thread."""

    def __init__(self, lane: Lane, interval: float) -> None:
        self._lane = lane
        self._interval = interval
        self._poll = select.poll()
        self._poll.register(lane.wire.socket, select.POLLIN)
        self.latencies: list[float] = []
        self.by_second: Counter[int] = Counter()
        self.sent = 0

    def run(self, seconds: float) -> None:
        started = time.perf_counter()
        while (now := time.perf_counter()) < started + seconds:
            due = started + self.sent * self._interval
            if now >= due and self._lane.waiting < UNANSWERED_MAX:
                self._lane.send(1, due)
                self.sent += 1
            elif self._poll.poll(max(0.0, due - now) * 1000 if self._lane.waiting < UNANSWERED_MAX else 1000):
                self._take(started)
        end = time.perf_counter() + ANSWER_TIMEOUT_S
        while self._lane.waiting and time.perf_counter() < end:
            self._take(started)

    def _take(self, started: float) -> None:
        count = self._lane.take(self.latencies)
        self.by_second[int(time.perf_counter() - started)] += count


def sustain(broker: Rival, rate: int, seconds: float) -> Figures:
    create_topic(broker.address, TOPIC, configs=CONFIGS)
    frame = produce_frame(TOPIC, 0, BATCH_MESSAGES, MESSAGE_BYTES)
    lane = Lane(broker.address, TOPIC, [frame], UNANSWERED_MAX)
    OpenLoop(lane, BATCH_MESSAGES / rate).run(min(5.0, seconds / 5))  # warm-up
    before, cpu = broker.memory(), broker.cpu_seconds()
    loop = OpenLoop(lane, BATCH_MESSAGES / rate)
    loop.run(seconds)
    cpu = broker.cpu_seconds() - cpu
    lane.close()
    whole = [loop.by_second[second] * BATCH_MESSAGES for second in range(int(seconds))]
    planned = int(seconds * rate)
    acknowledged = len(loop.latencies) * BATCH_MESSAGES
    return {
        "planned_messages": planned,
        "messages_per_s": acknowledged / seconds,
        "lost_share": max(0.0, 1 - acknowledged / planned),
        "slow_seconds": sum(count < rate * (1 - TOLERANCE) for count in whole),
        "worst_second": min(whole),
        **spread(loop.latencies),
        "max_ms": max(loop.latencies) * 1000,
        "cpu_share": cpu / seconds,
        "cpu_ms_per_1000_messages": cpu * 1e6 / max(acknowledged, 1),
        "rss_before_mb": before["rss_mb"],
        "rss_after_mb": broker.memory()["rss_mb"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.sustained", description=__doc__)
    parser.add_argument("--rate", type=int, default=LEAST["sustained"]["rate"], help="messages a second")
    parser.add_argument("--seconds", type=float, default=LEAST["sustained"]["seconds"])
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka in place of Penstock")
    options = parser.parse_args()
    kind: type[Rival] = Kafka if options.kafka else Penstock
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        broker = kind(Path(directory))
        try:
            broker.start()
            figures = sustain(broker, options.rate, options.seconds)
        finally:
            broker.stop()
    for name, value in figures.items():
        print(f"{name:26} {value:,.3f}")
    reached = figures["lost_share"] < TOLERANCE / 10
    print(f"{options.rate:,} messages/s for {options.seconds:g} s: {'reached' if reached else 'missed'}")
    store.save("sustained", {"options": vars(options), "sustained": {kind.name: figures}})
    return 0 if reached else 1


if __name__ == "__main__":
    end_in_order_on_sigterm()
    sys.exit(main())
