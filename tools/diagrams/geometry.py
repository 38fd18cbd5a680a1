"""Routes of arrows: straight segments, perpendicular to the boxes that they meet, never at a corner."""

from __future__ import annotations

from itertools import pairwise

from tools.diagrams.source import Arrow, Box, DiagramError, Point

LABEL_WIDTH = 0.62
"""Units that a letter of a label takes on average."""
LABEL_HEIGHT = 1.4


def route(arrow: Arrow, origin: Box, target: Box) -> list[Point]:
    """The points of an arrow, from the edge of one box to the edge of the other."""
    if not arrow.via:
        return _straight(arrow, origin, target)
    return [_exit(arrow, origin, arrow.via[0]), *arrow.via, _exit(arrow, target, arrow.via[-1])]


def _straight(arrow: Arrow, origin: Box, target: Box) -> list[Point]:
    across = _shared(origin.top, origin.bottom, target.top, target.bottom)
    if across is not None:
        y = arrow.at if arrow.at is not None else across
        return (
            [(origin.right, y), (target.left, y)]
            if origin.right <= target.left
            else [(origin.left, y), (target.right, y)]
        )
    upright = _shared(origin.left, origin.right, target.left, target.right)
    if upright is None:
        raise DiagramError(f"{_name(arrow)}: the boxes do not face each other: give it bends (via)")
    x = arrow.at if arrow.at is not None else upright
    return (
        [(x, origin.bottom), (x, target.top)] if origin.bottom <= target.top else [(x, origin.top), (x, target.bottom)]
    )


def _shared(low: float, high: float, other_low: float, other_high: float) -> float | None:
    """The middle of the intersection of two ranges."""
    begin, end = max(low, other_low), min(high, other_high)
    return (begin + end) / 2 if begin < end else None


def _exit(arrow: Arrow, box: Box, towards: Point) -> Point:
    x, y = towards
    if box.left < x < box.right:
        return (x, box.top if y < box.top else box.bottom)
    if box.top < y < box.bottom:
        return (box.left if x < box.left else box.right, y)
    raise DiagramError(
        f"{_name(arrow)}: the bend at {x:g}, {y:g} is neither level with box {box.id} nor above or below it"
    )


def middle(points: list[Point]) -> Point:
    """The middle of the longest segment, where a label has room."""
    pieces = list(pairwise(points))
    begin, end = max(pieces, key=lambda piece: _length(*piece))
    return ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2)


def label_place(arrow: Arrow, points: list[Point]) -> tuple[float, float, float]:
    """Left, top and width of the label; its baseline is a little above the line."""
    x, y = arrow.label_at or middle(points)
    width = len(arrow.label) * LABEL_WIDTH
    return x - width / 2, y - LABEL_HEIGHT - 0.2, width


def _length(begin: Point, end: Point) -> float:
    return abs(begin[0] - end[0]) + abs(begin[1] - end[1])


def _name(arrow: Arrow) -> str:
    return f"arrow {arrow.origin} → {arrow.target}"
