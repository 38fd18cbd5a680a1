"""Drawing of a diagram as SVG. The same source always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tools.diagrams.collisions import collisions
from tools.diagrams.geometry import LABEL_HEIGHT, label_place, route
from tools.diagrams.source import LINE_HEIGHT, TITLE_HEIGHT, Arrow, Box, Diagram, DiagramError, Point

UNIT = 10
INK, SOFT = "#12303f", "#46606e"
_COLOURS = {
    "frame": ("#fbfdfe", SOFT),
    "outside": ("#eef4f7", "#9db4c0"),
    "part": ("#dcebf2", "#7fa3b5"),
    "process": ("#f3ead9", "#b59a63"),
    "disk": ("#cfe3d8", "#6d9a80"),
    "state": ("#dcebf2", "#7fa3b5"),
    "point": (SOFT, SOFT),
}
_HEAD = (
    '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    ' orient="auto-start-reverse">'
    f'<path d="M0 0 L10 5 L0 10 z" fill="{SOFT}"/></marker>'
)


def svg(diagram: Diagram) -> str:
    """The text of the file. DiagramError if something would run over a box."""
    if problem := next(collisions(diagram), None):
        raise DiagramError(problem)
    width, height = (_px(side) for side in diagram.size)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" font-family="Helvetica, Arial, sans-serif">',
        f"<title>{escape(diagram.title)}</title>",
        f"<defs>{_HEAD}</defs>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    frames_first = sorted(diagram.box, key=lambda box: box.kind != "frame")
    lines += [_box(box) for box in frames_first]
    routes = [
        (arrow, route(arrow, diagram.named(arrow.origin), diagram.named(arrow.target))) for arrow in diagram.arrow
    ]
    lines += [_line(arrow, points) for arrow, points in routes]
    for box in diagram.box:
        lines += _texts(box)
    lines += [_label(arrow, points) for arrow, points in routes if arrow.label]
    return "\n".join([*lines, "</svg>", ""])


def _px(units: float) -> str:
    return f"{units * UNIT:g}"


def _box(box: Box) -> str:
    fill, stroke = _COLOURS[box.kind]
    radius = min(box.size) * UNIT / 2 if box.kind in ("state", "point") else 8
    place = f'x="{_px(box.left)}" y="{_px(box.top)}" width="{_px(box.size[0])}" height="{_px(box.size[1])}"'
    return f'<rect {place} rx="{radius:g}" fill="{fill}" stroke="{stroke}" stroke-width="1.4"/>'


def _line(arrow: Arrow, points: list[Point]) -> str:
    path = " L".join(f"{_px(x)} {_px(y)}" for x, y in points)
    start = ' marker-start="url(#head)"' if arrow.both else ""
    return (
        f'<path d="M{path}" fill="none" stroke="{SOFT}" stroke-width="1.6" stroke-linejoin="round"'
        f' marker-end="url(#head)"{start}/>'
    )


def _texts(box: Box) -> Iterator[str]:
    """The texts of a box, in its middle; those of a frame at its top."""
    x = box.left + box.size[0] / 2
    height = TITLE_HEIGHT * bool(box.title) + LINE_HEIGHT * len(box.lines)
    y = box.top + (0.3 if box.kind == "frame" else (box.size[1] - height) / 2)
    if box.title:
        yield _text(box.title, (x, y + 1.65), 15, INK, bold=True)
        y += TITLE_HEIGHT
    for line in box.lines:
        yield _text(line, (x, y + 1.25), 12, SOFT)
        y += LINE_HEIGHT


def _label(arrow: Arrow, points: list[Point]) -> str:
    """A label on white, so that a line behind it does not cross the letters."""
    left, top, width = label_place(arrow, points)
    place = f'x="{_px(left)}" y="{_px(top)}" width="{_px(width)}" height="{_px(LABEL_HEIGHT)}"'
    return f'<rect {place} fill="#ffffff"/>{_text(arrow.label, (left + width / 2, top + 1.1), 12, SOFT)}'


def _text(text: str, at: Point, size: int, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{_px(at[0])}" y="{_px(at[1])}"'
    return f'<text {place} font-size="{size}" fill="{colour}" text-anchor="middle"{weight}>{escape(text)}</text>'
