"""`python -m bench.security`: what TLS, logins and rules cost, side by side with Apache Kafka's on the same machine.

With `--before TREE` plain text is compared with an earlier tree, too, which has a `.venv` of its own. The exit code is
1 if something that must be reached is not.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import store
from bench.machine import use_memory_once
from bench.report import aligned
from bench.rivals import end_in_order_on_sigterm
from bench.rounds import medians
from bench.security.brokers import Secured, SecuredKafka, SecuredPenstock
from bench.security.in_turn import BEFORE, HOT, against, with_itself, with_rules, write_policy
from bench.security.targets import DETAIL_HEADINGS, HEADINGS, detail_rows, missed, rows
from bench.security.works import WORKS, Span, crowd, start
from bench.spread import Figures
from bench.targets import Medians

ROUNDS, SECONDS, WARM_UP, CONNECTIONS, PAIRS = 3, 4.0, 3.0, 10_000, 75
CHOICES = ("before", "acl", "control", *WORKS, "crowd", "start")
# Cores that others may take while the kernel writes back and the system looks after itself.
DISTURBING = 0.3
_SHOWN = ("messages_per_s", "requests_per_s", "bytes_per_s", "plain_p99_ms", "tls_p99_ms", "plain_cpu_us", "tls_cpu_us",
          "up_s", "rss_above_plain_mb", "lag_p999_ms", "broker_cpu_ms_each", "generator_cpu_ms_each", "off_s", "on_s",
          "rules_s", "their_cpu_us", "our_cpu_us", "cpu_ratio", "wall_ratio", "instruction_ratio",
          "cpu_ms_per_1000_messages", "generator_cpu_share", "others_cpu_share")  # fmt: skip


def main() -> int:
    arguments = _arguments()
    end_in_order_on_sigterm()
    use_memory_once()
    figures = {"penstock": _in_turn(arguments)}
    kinds: list[type[Secured]] = [SecuredPenstock] if arguments.penstock_only else [SecuredPenstock, SecuredKafka]
    rounds: dict[str, list[Medians]] = {kind.name: [] for kind in kinds}
    for number in range(arguments.rounds):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            title = f"{kind.name} {number + 1}"
            rounds[kind.name].append({name: _told(title, name, one) for name, one in _round(kind, arguments)})
            os.sync()
    for name, measured in rounds.items():
        figures[name] = {**figures.get(name, {}), **medians(measured)}
    path = store.save("security", {"options": _plain(arguments), "security": figures, "rounds": rounds})
    for headings, table in ((HEADINGS, rows(figures)), (DETAIL_HEADINGS, detail_rows(figures))):
        print(f"\n{aligned([headings, *table])}")
    return _end(figures, path)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.security", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=CHOICES, default=CHOICES, help=", ".join(CHOICES))
    parser.add_argument("--before", type=Path, metavar="TREE", help="an earlier tree, with a .venv of its own")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each work, measured")
    parser.add_argument("--warm-up", type=float, default=WARM_UP, help="seconds of each work before that")
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of slices, for works that two brokers do in turn")
    parser.add_argument("--penstock-only", action="store_true")
    return parser.parse_args()


def _plain(arguments: argparse.Namespace) -> dict[str, object]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in vars(arguments).items()}


def _in_turn(arguments: argparse.Namespace) -> Medians:
    """The works for which two brokers run at the same time."""
    found: Medians = {}
    with tempfile.TemporaryDirectory(prefix="penstock-security-") as directory:
        here = Path(directory)
        if "before" in arguments.only and arguments.before is not None:
            for name, one in against(arguments.before, here, BEFORE, arguments.pairs):
                found[name] = _told("in turn", name, one)
        if "acl" in arguments.only:
            for name, one in with_rules(here, HOT, arguments.pairs):
                found[name] = _told("in turn", name, one)
        if "control" in arguments.only:
            for name, one in with_itself(here, BEFORE, arguments.pairs):
                found[name] = _told("in turn", name, one)
    return found


def _round(kind: type[Secured], arguments: argparse.Namespace) -> Iterator[tuple[str, Figures]]:
    """Fresh brokers, all works."""
    names = [name for name in WORKS if name in arguments.only]
    with tempfile.TemporaryDirectory(prefix="penstock-security-") as directory:
        here = Path(directory)
        if names:
            broker = kind(here / "broker")
            try:
                broker.start()
                for name in names:
                    yield name, WORKS[name](broker, Span(arguments.seconds, arguments.warm_up))
            finally:
                broker.stop()
        if "crowd" in arguments.only:
            yield "crowd", crowd(kind, here, arguments.connections)
        if "start" in arguments.only and kind is SecuredPenstock:
            yield "start", start(here / "start", write_policy(here / "policy.json"))


def _told(title: str, name: str, figures: Figures) -> Figures:
    """Print figures as they come in."""
    shown = [f"{key} {figures[key]:,.3f}" for key in _SHOWN if key in figures]
    print(f"{title:12} {name:24} {'  '.join(shown)}", flush=True)
    return figures


def _end(figures: dict[str, Medians], path: Path) -> int:
    most = max((one.get("others_cpu_share", 0.0) for works in figures.values() for one in works.values()), default=0.0)
    if most > DISTURBING:
        print(f"\nThe machine was not idle: others took up to {most:.1f} cores. Do not trust these figures.")
    titles = missed(figures)
    print(f"\nmissed: {'; '.join(titles)}" if titles else "\nall that must be reached is reached")
    print(f"written to {path}")
    return int(bool(titles))


if __name__ == "__main__":
    sys.exit(main())
