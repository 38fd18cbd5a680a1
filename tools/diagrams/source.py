"""A diagram as its TOML file describes it. A mistake raises a `DiagramError` that names the file and the fix."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Point = tuple[float, float]
KINDS = ("outside", "part", "process", "disk", "state", "point", "frame")

TITLE_WIDTH = 0.84
LINE_WIDTH = 0.66
"""Units that a letter takes at most on average: of a title (15 px, bold), and of a line below it (12 px)."""
TITLE_HEIGHT = 2.4
LINE_HEIGHT = 1.8


class DiagramError(Exception):
    """A mistake in a source; the message names the fix."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Box(_Part):
    id: str = Field(min_length=1)
    at: Point
    size: Point
    kind: str = "part"
    title: str = ""
    lines: tuple[str, ...] = ()

    @property
    def left(self) -> float:
        return self.at[0]

    @property
    def top(self) -> float:
        return self.at[1]

    @property
    def right(self) -> float:
        return self.at[0] + self.size[0]

    @property
    def bottom(self) -> float:
        return self.at[1] + self.size[1]

    def contains(self, other: Box) -> bool:
        inside_x = self.left <= other.left and other.right <= self.right
        return inside_x and self.top <= other.top and other.bottom <= self.bottom

    def overlaps(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Arrow(_Part):
    origin: str = Field(alias="from")
    target: str = Field(alias="to")
    label: str = ""
    via: tuple[Point, ...] = ()
    at: float | None = None
    label_at: Point | None = None
    both: bool = False


class Diagram(_Part):
    title: str = Field(min_length=1)
    size: Point
    box: tuple[Box, ...]
    arrow: tuple[Arrow, ...] = ()

    def named(self, name: str) -> Box:
        return next(box for box in self.box if box.id == name)


@dataclass(frozen=True, slots=True)
class Source:
    path: Path

    @property
    def picture(self) -> Path:
        return self.path.with_suffix(".svg")

    def read(self) -> Diagram:
        try:
            diagram = Diagram.model_validate(tomllib.loads(self.path.read_text(encoding="utf-8")))
        except tomllib.TOMLDecodeError as error:
            raise DiagramError(f"{self.path.name}: {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise DiagramError(f"{self.path.name}: {place}: {first['msg']}") from error
        if found := next(_problems(diagram), None):
            raise DiagramError(f"{self.path.name}: {found}")
        return diagram


def _problems(diagram: Diagram) -> Iterator[str]:
    names = [box.id for box in diagram.box]
    yield from (f"box {name} is there twice" for name in names if names.count(name) > 1)
    for box in diagram.box:
        yield from _box_problems(box, diagram)
    for one, other in combinations(diagram.box, 2):
        if one.overlaps(other) and not (_holds(one, other) or _holds(other, one)):
            yield f"boxes {one.id} and {other.id} overlap: move one of them, or make the outer one a frame"
    for arrow in diagram.arrow:
        for name in (arrow.origin, arrow.target):
            if name not in names:
                yield f"an arrow names {name}; there are: {', '.join(names)}"


def _holds(outer: Box, inner: Box) -> bool:
    return outer.kind == "frame" and outer.contains(inner)


def _box_problems(box: Box, diagram: Diagram) -> Iterator[str]:
    if box.kind not in KINDS:
        yield f"box {box.id} is of the kind {box.kind!r}; there are: {', '.join(KINDS)}"
    if box.left < 0 or box.top < 0 or box.right > diagram.size[0] or box.bottom > diagram.size[1]:
        yield f"box {box.id} is not within the picture ({diagram.size[0]:g} × {diagram.size[1]:g})"
    width = max([len(box.title) * TITLE_WIDTH, *(len(line) * LINE_WIDTH for line in box.lines)])
    if width > box.size[0] - 1:
        yield f"box {box.id}: its text needs {width + 1:.0f} units, the box has {box.size[0]:g}"
    height = TITLE_HEIGHT * bool(box.title) + LINE_HEIGHT * len(box.lines)
    if height > box.size[1]:
        yield f"box {box.id}: its text needs {height:.0f} units of height, the box has {box.size[1]:g}"
