"""Arrows and labels that run over boxes. Boxes themselves are checked when a source is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tools.diagrams.geometry import LABEL_HEIGHT, label_place, route
from tools.diagrams.source import Arrow, Box, Diagram, Point


def collisions(diagram: Diagram) -> Iterator[str]:
    """What is wrong, with the fix."""
    boxes = [box for box in diagram.box if box.kind not in ("frame", "point")]
    for arrow in diagram.arrow:
        points = route(arrow, diagram.named(arrow.origin), diagram.named(arrow.target))
        name = f"arrow {arrow.origin} → {arrow.target}"
        for box in boxes:
            if box.id not in (arrow.origin, arrow.target) and _crosses(points, box):
                yield f"{name} runs through box {box.id}: lead it around (via)"
            if arrow.label and _covers(arrow, points, box):
                yield f"the label of {name} lies over box {box.id}: move it (label_at)"


def _crosses(points: list[Point], box: Box) -> bool:
    return any(
        _overlap(begin[0], end[0], box.left, box.right) and _overlap(begin[1], end[1], box.top, box.bottom)
        for begin, end in pairwise(points)
    )


def _covers(arrow: Arrow, points: list[Point], box: Box) -> bool:
    left, top, width = label_place(arrow, points)
    return _overlap(left, left + width, box.left, box.right) and _overlap(top, top + LABEL_HEIGHT, box.top, box.bottom)


def _overlap(one: float, other: float, low: float, high: float) -> bool:
    return max(min(one, other), low) < min(max(one, other), high) or low < one == other < high
