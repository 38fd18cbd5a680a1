"""`python -m bench.report`: the tables of a result on the terminal, or with `--write` in docs/performance.md.

`--choose` first makes the newest results the day's chosen one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench import store
from bench.tables import Row, longer_tables, tables
from bench.targets import Medians

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def text(figures: dict[str, Medians]) -> str:
    return "\n\n".join(_aligned([headings, *rows]) for headings, rows in tables(figures))


def _aligned(rows: list[Row]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(result: dict[str, Any]) -> str:
    parts = [f"Measured {result['at'][:10]} on {_machine_text(result['machine'])}; {result['conditions']}."]
    for headings, rows in tables(result["medians"]) + longer_tables(result):
        lines = [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]
        parts.append("\n".join(line.replace("|  |", "| |") for line in lines))
    return "\n\n".join(parts)


def _machine_text(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}"
    )


def write(result: dict[str, Any]) -> None:
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} has no {BEGIN} … {END}")
    PAGE.write_text(f"{before}{BEGIN}\n{markdown(result)}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("result", nargs="?", type=Path, help="default: the newest chosen one")
    parser.add_argument("--choose", action="store_true", help="make the newest results the day's chosen one")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    chosen = store.choose() if options.choose else None
    path = options.result or chosen or store.latest_chosen() or store.latest(store.MAIN)
    if path is None:
        sys.exit("no result yet: make bench")
    if options.write:
        write(store.load(path))
    else:
        print(f"{path}\n\n{text(store.load(path)['medians'])}")


if __name__ == "__main__":
    main()
