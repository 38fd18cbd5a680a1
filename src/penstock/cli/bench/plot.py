"""Throughput and latency over time as one SVG: two charts, one above the other, a line for each group.

Needs pygal, which comes with the extra `plot`.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from penstock.cli.terminal.errors import CommandError, ExitCode

WIDTH, HEIGHT = 1000, 380
COLOURS = (
    "#1f77b4",
    "#d62728",
    "#2ca02c",
    "#ff7f0e",
    "#9467bd",
    "#17becf",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
)
SVG = "http://www.w3.org/2000/svg"


def check(path: Path) -> None:
    """Check that a plot can be written, before the load and not after it."""
    if path.suffix.lower() != ".svg":
        raise CommandError(f"--plot {path}: plots are SVG files", ExitCode.USAGE, hint="let the name end in .svg")
    if not path.parent.is_dir():
        raise CommandError(f"--plot {path}: there is no directory {path.parent}", ExitCode.USAGE)
    try:
        import pygal  # noqa: F401
    except ImportError as error:
        raise CommandError(
            "--plot needs the package pygal", ExitCode.USAGE, hint="install it with: pip install 'penstock[plot]'"
        ) from error


def write(found: dict[str, Any], path: Path) -> None:
    """Write the plot: a value for each second of the run; where a group did nothing its line has a gap."""
    groups = found["groups"]
    by_second = {name: {row["second"]: row for row in group["series"]} for name, group in groups.items()}
    seconds = range(1 + max((second for rows in by_second.values() for second in rows), default=0))
    throughput = _chart(f"{found['scenario']}: messages a second", seconds, colours=1)
    latency = _chart("latency in ms, p50 dashed and p99", seconds, colours=2, logarithmic=True)
    values: list[float] = []
    for name, rows in by_second.items():
        throughput.add(name, [rows[second]["messages"] if second in rows else None for second in seconds])
        for key, style in (("p50_ms", {"dasharray": "4, 3"}), ("p99_ms", {})):
            points = [rows.get(second, {}).get(key) or None for second in seconds]
            values += [point for point in points if point]
            latency.add(f"{name} {key[:3]}", points, stroke_style=style)
    latency.y_labels = _decades(values)
    path.write_bytes(_stacked([throughput, latency]))


def _decades(values: list[float]) -> list[float]:
    """Labels 1, 2, 5, 10, … around the values: by default a logarithmic axis is labelled too densely to read."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)]
    below = [step for step in steps if step <= low][-1:]
    return below + [step for step in steps if low < step < high * 2.5]


def _chart(title: str, seconds: range, *, colours: int, logarithmic: bool = False) -> Any:
    """An empty chart; `colours` lines in a row share a colour."""
    import pygal
    from pygal.style import CleanStyle

    style = CleanStyle(
        background="white",
        plot_background="white",
        colors=tuple(colour for colour in COLOURS for _ in range(colours)),
        title_font_size=15,
        legend_font_size=12,
        label_font_size=11,
        major_label_font_size=11,
        stroke_width=1.8,
    )
    chart = pygal.Line(
        title=title,
        width=WIDTH,
        height=HEIGHT,
        style=style,
        logarithmic=logarithmic,
        show_dots=False,
        js=(),  # the file must not load scripts
        truncate_legend=-1,
        no_data_text="nothing",
        show_minor_x_labels=False,
        x_labels_major_every=max(1, len(seconds) // 20),
    )
    chart.x_labels = [f"{second} s" for second in seconds]
    return chart


def _stacked(charts: list[Any]) -> bytes:
    """One SVG document with the charts, which are documents themselves, one below the other."""
    ElementTree.register_namespace("", SVG)
    height = HEIGHT * len(charts)
    outer = ElementTree.Element(f"{{{SVG}}}svg", {"width": str(WIDTH), "height": str(height)})
    outer.set("viewBox", f"0 0 {WIDTH} {height}")
    for number, chart in enumerate(charts):
        inner = ElementTree.fromstring(chart.render())
        for definitions in inner.iter(f"{{{SVG}}}defs"):
            for script in definitions.findall(f"{{{SVG}}}script"):  # useless without the library that is left out above
                definitions.remove(script)
        inner.attrib.update(x="0", y=str(number * HEIGHT), width=str(WIDTH), height=str(HEIGHT))
        outer.append(inner)
    document: bytes = ElementTree.tostring(outer, encoding="utf-8", xml_declaration=True)
    return document
