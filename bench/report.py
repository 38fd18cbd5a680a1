"""`python -m bench.report`: the tables of a result on the terminal, or with `--write` in docs/performance.md.

`--choose` first makes the newest results the day's chosen one. What is too short, or leaves something out, is neither
chosen nor written. At the end stands which of the figures to reach are missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench import store
from bench.fitness import unfit
from bench.tables import Row, longer_tables, summary, tables
from bench.targets import Medians

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def text(figures: dict[str, Medians]) -> str:
    return "\n\n".join(aligned([headings, *rows]) for headings, rows in tables(figures))


def aligned(rows: list[Row]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(result: dict[str, Any]) -> str:
    parts = [f"Measured {result['at'][:10]} on {machine_text(result['machine'])}; {result['conditions']}."]
    parts += [table(headings, rows) for headings, rows in tables(result["medians"])]
    for kind, (headings, rows) in longer_tables(result).items():
        parts += [_measured(kind, result), table(headings, rows)]
    return "\n\n".join(parts)


def table(headings: Row, rows: list[Row]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]
    return "\n".join(line.replace("|  |", "| |") for line in lines)


def _measured(kind: str, result: dict[str, Any]) -> str:
    """Longer runs have their own day, and perhaps their own machine."""
    made = result["longer"][kind]
    elsewhere = "" if made["machine"] == result["machine"] else f" on {machine_text(made['machine'])}"
    return f"`make {'load' if kind == 'load' else f'bench-{kind}'}`, measured {made['at'][:10]}{elsewhere}:"


def machine_text(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}"
    )


def write(text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put a text between two marks of the page."""
    before, found_begin, rest = PAGE.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        sys.exit(f"{PAGE} has no {begin} … {end}")
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("result", nargs="?", type=Path, help="default: the newest chosen one")
    parser.add_argument("--choose", action="store_true", help="make the newest results the day's chosen one")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    path = options.result or (_choose() if options.choose else store.latest_chosen() or store.latest(store.MAIN))
    if path is None:
        sys.exit("no result yet: make bench")
    result = store.load(path)
    reason = unfit(store.MAIN, result)
    if options.write:
        if reason is not None:
            sys.exit(f"{path} is not fit to be quoted: {reason}")
        write(markdown(result))
        print(f"{path} is now in {PAGE}")
    else:
        print(f"{path}{f' (not fit to be quoted: {reason})' if reason else ''}\n\n{text(result['medians'])}")
    print("\n" + summary(result["medians"]))


def _choose() -> Path:
    passed_over: list[str] = []
    chosen = store.choose(passed_over)
    for line in passed_over:
        print(f"passed over: {line}")
    if chosen is None:
        sys.exit("no result is fit to be quoted: make bench, on an idle machine")
    return chosen


if __name__ == "__main__":
    main()
