"""The recorded transcripts of Apache Kafka: one file for each family of scripts, one line for each step.

    {"fetch-v4": [["fetch v4: empty", {…answer…}], …],
     "fetch-v5": [["fetch v5: empty", "= fetch-v4 0"], …]}

A long answer that has come before in the file is named by the script and the number of its step instead.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

SHORT = 80  # an answer of fewer characters is written out
DIRECTORY = Path(__file__).parents[1] / "vectors"

Steps = list[tuple[str, Any]]


def write(family: str, scripts: Mapping[str, Steps]) -> None:
    """Replace the file of a family. `scripts` are in the order in which they were registered."""
    DIRECTORY.mkdir(exist_ok=True)
    places: dict[str, str] = {}
    blocks = []
    for name, steps in scripts.items():
        lines = [
            f"[{json.dumps(title)},{_written(places, f'{name} {index}', answer)}]"
            for index, (title, answer) in enumerate(steps)
        ]
        blocks.append(f"{json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]")
    (DIRECTORY / f"{family}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n")
    read.cache_clear()


def _written(places: dict[str, str], place: str, answer: Any) -> str:
    text = json.dumps(answer, separators=(",", ":"))
    first = places.setdefault(text, place)
    return text if first == place or len(text) < SHORT else json.dumps(f"= {first}")


@cache
def read(family: str) -> dict[str, Steps]:
    path = DIRECTORY / f"{family}.json"
    if not path.exists():
        return {}
    scripts: dict[str, Steps] = {}
    for name, steps in json.loads(path.read_text()).items():
        scripts[name] = []
        for title, answer in steps:
            scripts[name].append((title, _full(scripts, answer)))
    return scripts


def _full(scripts: Mapping[str, Steps], answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    name, _, index = answer.removeprefix("= ").rpartition(" ")
    return scripts[name][int(index)][1]


def forget_others(families: Collection[str]) -> None:
    """Remove the files of families that are no more."""
    for path in DIRECTORY.glob("*.json"):
        if path.stem not in families:
            path.unlink()
