"""Conditions under which the result of a run may be quoted. They are the defaults of its options, too."""

from __future__ import annotations

from typing import Any

LEAST: dict[str, dict[str, float]] = {
    "bench": {"rounds": 3, "seconds": 4.0, "warm_up": 3.0, "connections": 10_000},
    "clients": {"rounds": 3, "messages": 1_000_000},
    "age": {"seconds": 1.0, "segments": 1000, "partitions": 10_000},
    "sustained": {"seconds": 600.0, "rate": 400_000},
    "load": {},
}
# Options that leave something out or measure something else.
WITHOUT = ("penstock_only", "only", "against", "kafka")


def unfit(kind: str, result: dict[str, Any]) -> str | None:
    """Why a result may not be quoted, None if it may."""
    least = LEAST[kind]
    options: dict[str, Any] = result.get("options", {})
    if least and not options:
        return "it does not say with which options it was made"
    reasons = [f"made with --{name.replace('_', '-')}" for name in WITHOUT if options.get(name)]
    reasons += [
        f"{name.replace('_', ' ')} {options.get(name, 0):g}, at least {wanted:g} are wanted"
        for name, wanted in least.items()
        if options.get(name, 0) < wanted
    ]
    return "; ".join(reasons) or None
