"""Lengths of time as people write them: seconds, or a number with a unit."""

from __future__ import annotations

import re

_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|)")


def parse_seconds(text: str) -> float:
    """Return the seconds of 30, 30s, 500ms or 2m; ValueError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected seconds, or a time such as 30s, 500ms or 2m")
    return float(match[1]) * _UNITS[match[2]]
