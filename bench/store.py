"""Results as JSON files in `bench/results`: every run's own, which stay on the machine, and a day's chosen one.

A chosen result is the newest `make bench` that is fit to be quoted, together with the newest such of the longer runs.
It is what the docs quote, and it is kept under version control.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.fitness import unfit
from bench.machine import machine

RESULTS = Path(__file__).parent / "results"
MAIN = "bench"
LONGER = ("clients", "age", "sustained", "load")


def save(kind: str, content: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RESULTS / f"{kind}-{now:%Y-%m-%d-%H%M%S}.json"
    return _write(path, {"at": now.isoformat(timespec="seconds"), "machine": machine(), **content})


def load(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def latest(kind: str, *, with_broker: str | None = None) -> Path | None:
    """The newest result of its kind, or the newest in which the given broker was measured."""
    for path in sorted(RESULTS.glob(f"{kind}-*.json"), reverse=True):
        if with_broker is None or with_broker in load(path).get("medians", {}):
            return path
    return None


def latest_chosen() -> Path | None:
    return max(RESULTS.glob("20??-??-??.json"), default=None)


def choose(passed_over: list[str]) -> Path | None:
    """Merge the newest results into the day's; None if no `make bench` is fit. Why others are not goes to the list.

    A longer run that was not made here stays as it was chosen last: every run's own file is on one machine only.
    """
    main = _newest_fit(MAIN, passed_over)
    if main is None:
        return None
    result = load(main)
    chosen = latest_chosen()
    earlier = load(chosen) if chosen is not None else {}
    for kind in LONGER:
        path = _newest_fit(kind, passed_over)
        if path is not None:
            longer = load(path)
            made = {"at": longer["at"], "machine": longer["machine"]}
        elif kind in earlier:
            longer, made = earlier, earlier["longer"][kind]
        else:
            continue
        result[kind] = longer[kind]
        result.setdefault("longer", {})[kind] = made
    return _write(RESULTS / f"{result['at'][:10]}.json", result)


def _newest_fit(kind: str, passed_over: list[str]) -> Path | None:
    for path in sorted(RESULTS.glob(f"{kind}-*.json"), reverse=True):
        reason = unfit(kind, load(path))
        if reason is None:
            return path
        passed_over.append(f"{path.name}: {reason}")
    return None


def _write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path
