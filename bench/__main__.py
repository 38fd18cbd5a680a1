"""`python -m bench`: Penstock, side by side with Apache Kafka on the same machine.

Without a rival (`--penstock-only`) the ratios are to the newest result in `bench/results` that has Kafka's figures.
With `--against HOST:PORT` a broker that runs already is measured, whatever it is.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench import store
from bench.fitness import LEAST
from bench.machine import use_memory_once
from bench.report import text
from bench.rivals import FlushingKafka, Kafka, Penstock, Rival, end_in_order_on_sigterm
from bench.rounds import Options, medians, one_round, works
from bench.spread import Figures
from bench.tables import summary
from bench.targets import Medians
from bench.work import WORK

CHOICES = ("start", "memory", *WORK)
# Cores that others may take while the kernel writes back and the system looks after itself.
DISTURBING = 0.3
MAIN_FIGURES = (
    "messages_per_s",
    "requests_per_s",
    "transactions_per_s",
    "share",
    "bytes_per_s",
    "seconds",
    "rss_mb",
    "p50_ms",
    "p99_ms",
    "errors",
    "failed",
)


def main() -> int:
    arguments = _arguments()
    options = Options(
        seconds=arguments.seconds,
        warm_up=arguments.warm_up,
        only=arguments.only or CHOICES,
        connections=arguments.connections,
    )
    if arguments.against:
        host, _, port = arguments.against.rpartition(":")
        rounds = {arguments.against: [_told(arguments.against, works((host, int(port)), options))]}
    else:
        rounds = _rounds(arguments, options)
    figures = {name: medians(measured) for name, measured in rounds.items()}
    path = _save(rounds, figures, arguments)
    beside = _beside_kafka(figures)
    print(f"\n{text(beside)}\n\n{summary(beside)}\nwritten to {path}")
    _warn_of_others(figures)
    return int(
        any("failed" in one for measured in rounds.values() for works_of in measured for one in works_of.values())
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=CHOICES, help=", ".join(CHOICES))
    least = LEAST[store.MAIN]
    parser.add_argument("--rounds", type=int, default=least["rounds"])
    parser.add_argument("--seconds", type=float, default=least["seconds"], help="of each work, measured")
    parser.add_argument("--warm-up", type=float, default=least["warm_up"], help="seconds of each work before that")
    parser.add_argument("--connections", type=int, default=least["connections"])
    parser.add_argument("--penstock-only", action="store_true")
    parser.add_argument("--fsync-kafka", action="store_true", help="one round of Kafka with a sync for each message")
    parser.add_argument("--against", metavar="HOST:PORT", help="a broker that runs already")
    return parser.parse_args()


def _rounds(arguments: argparse.Namespace, options: Options) -> dict[str, list[Medians]]:
    kinds: list[type[Rival]] = [Penstock] if arguments.penstock_only else [Penstock, Kafka]
    rounds: dict[str, list[Medians]] = {kind.name: [] for kind in kinds}
    for number in range(arguments.rounds):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            rounds[kind.name].append(_told(f"{kind.name} {number + 1}", one_round(kind, options)))
    if arguments.fsync_kafka:
        rounds[FlushingKafka.name] = [_told(FlushingKafka.name, one_round(FlushingKafka, options))]
    return rounds


def _told(title: str, measured: Any) -> Medians:
    """Print figures as they come in."""
    result: dict[str, Figures] = {}
    for name, figures in measured:
        result[name] = figures
        shown = [f"{key} {figures[key]:,.2f}" for key in MAIN_FIGURES if key in figures]
        print(f"{title:14} {name:16} {'  '.join(shown)}", flush=True)
    return result


def _beside_kafka(figures: dict[str, Medians]) -> dict[str, Medians]:
    """With Kafka's figures of an earlier run, if it was not measured in this one."""
    earlier = store.latest(store.MAIN, with_broker="kafka") or store.latest_chosen()
    if "kafka" in figures or "penstock" not in figures or earlier is None:
        return figures
    print(f"\nKafka's figures are from {earlier}")
    theirs = store.load(earlier)["medians"]["kafka"]
    return {**figures, "kafka": {name: theirs[name] for name in figures["penstock"] if name in theirs}}


def _warn_of_others(figures: dict[str, Medians]) -> None:
    """A Kafka that syncs every message keeps the kernel's own threads busy: that is no disturbance."""
    all_works = [one for name, works_of in figures.items() if name != FlushingKafka.name for one in works_of.values()]
    most = max((one.get("others_cpu_share", 0.0) for one in all_works), default=0.0)
    if most > DISTURBING:
        print(f"The machine was not idle: others took up to {most:.1f} cores. Do not trust these figures.")


def _save(rounds: dict[str, list[Medians]], figures: dict[str, Medians], arguments: argparse.Namespace) -> Path:
    conditions = (
        f"median of {arguments.rounds} rounds, {arguments.seconds:g} s each after {arguments.warm_up:g} s of warm-up, "
        "the load generator on the same cores"
    )
    content = {"conditions": conditions, "options": vars(arguments), "medians": figures, "rounds": rounds}
    return store.save(store.MAIN, content)


if __name__ == "__main__":
    end_in_order_on_sigterm()
    use_memory_once()
    sys.exit(main())
