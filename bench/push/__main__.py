"""`python -m bench.push`: the engine under single messages, the push door and the pipe, against what is to be reached.

Beside the push door, in the same run: Redis Streams with `appendfsync always`. Each figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench import store
from bench.push import engine
from bench.push.catching_up import catch_up
from bench.push.delivery import NO_PAUSE, deliver, deliver_redis, publish, publish_redis, through_levels
from bench.push.redis_server import RedisServer
from bench.push.subscribers import crowd
from bench.rivals import Penstock, end_in_order_on_sigterm
from bench.spread import Figures
from penstock.config.settings import Flush

Work = Callable[[Path, float], Figures]


class Target(NamedTuple):
    """`must` and `aim` are lower bounds of rates and upper bounds of milliseconds."""

    title: str
    work: str
    figure: str
    must: float | None
    aim: float | None = None

    def verdict(self, value: float) -> str:
        if self.must is None:
            return ""
        less = self.figure.endswith("_ms")
        if self.aim is not None and (value <= self.aim if less else value >= self.aim):
            return "aim reached"
        return "reached" if (value <= self.must if less else value >= self.must) else "MISSED"


TARGETS = (
    Target("single-message appends, group commit", "append", "messages_per_s", 200_000, 500_000),
    Target("the same, flush: os", "append_os", "messages_per_s", None),
    Target("read, active segment", "read_active", "messages_per_s", 500_000, 2_000_000),
    Target("read, sealed segment", "read_sealed", "messages_per_s", 500_000, 2_000_000),
    Target("look-up by offset, sealed segment: p99", "look_up", "p99_ms", 0.2, 0.05),
    Target("push delivery to one consumer", "deliver", "messages_per_s", 50_000, 150_000),
    Target("the same, Redis Streams", "deliver_redis", "messages_per_s", None),
    Target("publish to delivery, 500 a second: p50", "publish", "p50_ms", 0.6, 0.3),
    Target("publish to delivery, 500 a second: p99", "publish", "p99_ms", 3.0, 1.0),
    Target("the same, Redis Streams: p50", "publish_redis", "p50_ms", None),
    Target("the same, Redis Streams: p99", "publish_redis", "p99_ms", None),
    Target("one after the other, without a pause: p50", "publish_on", "p50_ms", None),
    Target("one after the other, without a pause: p99", "publish_on", "p99_ms", None),
    Target("the same, Redis Streams: p50", "publish_on_redis", "p50_ms", None),
    Target("the same, Redis Streams: p99", "publish_on_redis", "p99_ms", None),
    Target("10,000 subscribers, 1,000 msg/s spread: p99", "crowd", "p99_ms", 20.0),
    Target("root to a consumer three levels down: p99", "levels", "p99_ms", 50.0, 15.0),
    Target("pipe catch-up", "catch_up", "messages_per_s", 200_000, 1_000_000),
)


def _on_broker(work: Callable[[Penstock], Figures]) -> Work:
    def run(directory: Path, seconds: float) -> Figures:
        broker = Penstock(directory)
        broker.start()
        try:
            return work(broker)
        finally:
            broker.stop()

    return run


def _on_redis(work: Callable[[RedisServer], Figures]) -> Work:
    def run(directory: Path, seconds: float) -> Figures:
        server = RedisServer(directory)
        try:
            server.wait()
            return work(server)
        finally:
            server.stop()

    return run


WORKS: dict[str, Work] = {
    "append": lambda directory, seconds: engine.append(directory, seconds, Flush.ALWAYS),
    "append_os": lambda directory, seconds: engine.append(directory, seconds, Flush.OS),
    "read_active": lambda directory, seconds: engine.read(directory, seconds, sealed=False),
    "read_sealed": lambda directory, seconds: engine.read(directory, seconds, sealed=True),
    "look_up": lambda directory, seconds: engine.look_up(directory),
    "deliver": _on_broker(lambda broker: deliver(broker, 300_000)),
    "deliver_redis": _on_redis(lambda server: deliver_redis(server, 30_000)),
    "publish": _on_broker(lambda broker: publish(broker, 3_000)),
    "publish_redis": _on_redis(lambda server: publish_redis(server, 3_000)),
    "publish_on": _on_broker(lambda broker: publish(broker, 3_000, rate=NO_PAUSE)),
    "publish_on_redis": _on_redis(lambda server: publish_redis(server, 3_000, NO_PAUSE)),
    "crowd": _on_broker(lambda broker: crowd(broker, 10_000, 10.0, 1_000)),
    "levels": lambda directory, seconds: through_levels(directory, 1_000, 100),
    "catch_up": lambda directory, seconds: catch_up(directory, 1_000_000),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.push", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    arguments = parser.parse_args()
    end_in_order_on_sigterm()
    found: dict[str, list[Figures]] = {}
    for number in range(arguments.rounds):
        for name in arguments.only:
            with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as directory:
                figures = WORKS[name](Path(directory) / "data", arguments.seconds)
            found.setdefault(name, []).append(figures)
            print(f"round {number + 1}  {name:14} {_text(figures)}", flush=True)
    medians = {name: _median(rounds) for name, rounds in found.items()}
    missed = _report(medians)
    print(f"written to {store.save('push', {'rounds': arguments.rounds, 'push': medians})}")
    return int(missed)


def _median(rounds: list[Figures]) -> Figures:
    return {figure: statistics.median(one[figure] for one in rounds) for figure in rounds[0]}


def _text(figures: Figures) -> str:
    return "  ".join(f"{name} {value:,.3f}" for name, value in figures.items())


def _report(medians: dict[str, Figures]) -> bool:
    missed = False
    for target in TARGETS:
        if target.work not in medians:
            continue
        value = medians[target.work][target.figure]
        verdict = target.verdict(value)
        missed |= verdict == "MISSED"
        wanted = "" if target.must is None else f"must {target.must:,g}"
        print(f"{target.title:46} {value:14,.2f}  {wanted:14} {verdict}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
