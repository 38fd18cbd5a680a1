"""Two transcripts side by side: where they differ, and which of the differences are known.

A place is written as a path: `topics[name=a].partitions[0].error_code`. Rows are paired by what names them where that
is unique, so that one missing row is one difference.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.known import KNOWN
from tests.differential.known_row import ABSENT, Known

ROW_NAMES = ("name", "api_key", "feature", "group_id", "partition_index", "partition", "topic", "resource_name", "key")

Steps = Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    script: str
    step: str
    path: str
    kafka: Any
    penstock: Any

    def __str__(self) -> str:
        return f"{self.script} | {self.step} | {self.path or '.'}: Kafka {self.kafka!r}, Penstock {self.penstock!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of comparing one script."""

    differences: list[Difference]  # unexplained
    known: list[tuple[Difference, Known]]

    @property
    def all(self) -> list[Difference]:
        return self.differences + [difference for difference, _ in self.known]


def compare(script: str, kafka: Steps, penstock: Steps) -> Outcome:
    found = list(_compare_steps(script, kafka, penstock))
    explained = [(each, entry) for each in found if (entry := explanation(each)) is not None]
    unexplained = [each for each in found if explanation(each) is None]
    return Outcome(differences=unexplained, known=explained)


def explanation(found: Difference) -> Known | None:
    return next((entry for entry in KNOWN if _explains(entry, found)), None)


def _explains(entry: Known, found: Difference) -> bool:
    if not fnmatch.fnmatchcase(found.script, entry.script) or not fnmatch.fnmatchcase(found.step, entry.step):
        return False
    path = found.path.replace("[", "(").replace("]", ")")
    if not fnmatch.fnmatchcase(path, entry.path.replace("[", "(").replace("]", ")")):
        return False
    return bool(entry.kafka == found.kafka and entry.penstock == found.penstock)


def _compare_steps(script: str, kafka: Steps, penstock: Steps) -> Iterator[Difference]:
    for index in range(max(len(kafka), len(penstock))):
        ours = kafka[index] if index < len(kafka) else (ABSENT, None)
        theirs = penstock[index] if index < len(penstock) else (ABSENT, None)
        if ours[0] != theirs[0]:
            title = theirs[0] if ours[0] == ABSENT else ours[0]
            yield Difference(script=script, step=title, path="step", kafka=ours[0], penstock=theirs[0])
            return
        for path, left, right in _compare(ours[1], theirs[1], ""):
            yield Difference(script=script, step=ours[0], path=path, kafka=left, penstock=right)


def _compare(kafka: Any, penstock: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(kafka, dict) and isinstance(penstock, dict) and kafka.keys() == penstock.keys():
        for name in kafka:
            yield from _compare(kafka[name], penstock[name], f"{path}.{name}" if path else name)
    elif isinstance(kafka, list) and isinstance(penstock, list):
        yield from _compare_lists(kafka, penstock, path)
    elif kafka != penstock or type(kafka) is not type(penstock):
        yield path, kafka, penstock


def _compare_lists(kafka: list[Any], penstock: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    name = _row_name(kafka, penstock)
    if name is None:
        for index in range(max(len(kafka), len(penstock))):
            left = kafka[index] if index < len(kafka) else ABSENT
            right = penstock[index] if index < len(penstock) else ABSENT
            yield from _compare(left, right, f"{path}[{index}]")
        return
    ours, theirs = {row[name]: row for row in kafka}, {row[name]: row for row in penstock}
    for key in ours | theirs:
        yield from _compare(ours.get(key, ABSENT), theirs.get(key, ABSENT), f"{path}[{name}={key}]")
    shared = [key for key in ours if key in theirs]
    if shared != [key for key in theirs if key in ours]:
        yield f"{path}.order", list(ours), list(theirs)


def _row_name(kafka: list[Any], penstock: list[Any]) -> str | None:
    for name in ROW_NAMES:
        if all(_named_by(name, rows) for rows in (kafka, penstock)):
            return name
    return None


def _named_by(name: str, rows: list[Any]) -> bool:
    if not all(isinstance(row, dict) and isinstance(row.get(name), str | int) for row in rows):
        return False
    return len({row[name] for row in rows}) == len(rows)
