"""The recorded transcripts of Apache Kafka: one file for each family of scripts, one line for each step.

    {"fetch-v4": [["fetch v4: empty", {…answer…}], …],
     "fetch-v5": [["fetch v5: empty", "= fetch-v4"], …]}

A step whose answer is that of the same step one version earlier says so instead of repeating it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[1] / "vectors"

Steps = list[tuple[str, Any]]


def write(family: str, scripts: Mapping[str, Steps]) -> None:
    """Replace the file of a family. `scripts` are in the order in which they were registered."""
    DIRECTORY.mkdir(exist_ok=True)
    blocks, previous = [], ""
    for name, steps in scripts.items():
        lines = [_line(scripts, previous, index, *step) for index, step in enumerate(steps)]
        blocks.append(f"{json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]")
        previous = name
    (DIRECTORY / f"{family}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def _line(scripts: Mapping[str, Steps], previous: str, index: int, title: str, answer: Any) -> str:
    return json.dumps([title, _shortened(scripts, previous, index, answer)], separators=(",", ":"))


def _shortened(scripts: Mapping[str, Steps], previous: str, index: int, answer: Any) -> Any:
    earlier: Sequence[tuple[str, Any]] = scripts.get(previous, [])
    if index < len(earlier) and earlier[index][1] == answer and len(json.dumps(answer)) > 2 * len(previous):
        return f"= {previous}"
    return answer


@cache
def read(family: str) -> dict[str, Steps]:
    path = DIRECTORY / f"{family}.json"
    if not path.exists():
        return {}
    scripts: dict[str, Steps] = {}
    for name, steps in json.loads(path.read_text()).items():
        scripts[name] = [(title, _full(scripts, index, answer)) for index, (title, answer) in enumerate(steps)]
    return scripts


def _full(scripts: Mapping[str, Steps], index: int, answer: Any) -> Any:
    return scripts[answer.removeprefix("= ")][index][1] if isinstance(answer, str) else answer


def forget_others(families: Collection[str]) -> None:
    """Remove the files of families that are no more."""
    for path in DIRECTORY.glob("*.json"):
        if path.stem not in families:
            path.unlink()
