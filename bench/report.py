"""Tables of a result: on the terminal after a run, and in docs/performance.md (`python -m bench.report --write`)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.targets import LIMITS, RATIOS, Limit, Medians, Target

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
Row = list[str]
HEADINGS = ["work", "Apache Kafka", "Penstock", "ratio", "must", "aim", ""]
DETAILS = (
    ("p50_ms", "p50 ms", 2),
    ("p99_ms", "p99 ms", 2),
    ("p999_ms", "p99.9 ms", 2),
    ("service_p50_ms", "service p50 ms", 2),
    ("service_p99_ms", "service p99 ms", 2),
    ("cpu_ms_per_1000_messages", "CPU ms per 1,000", 2),
    ("broker_cpu_share", "broker CPU", 2),
    ("generator_cpu_share", "generator CPU", 2),
)


def ratio_rows(figures: dict[str, Medians]) -> list[Row]:
    penstock, kafka = figures.get("penstock", {}), figures.get("kafka", {})
    rows = [_ratio_row(target, target.value(penstock), target.value(kafka)) for target in RATIOS]
    return [row for row in rows if row]


def _ratio_row(target: Target, ours: float | None, theirs: float | None) -> Row:
    if ours is None and theirs is None:
        return []
    sign = "≤" if target.less else "≥"
    row = [target.title, target.unit.text(theirs), target.unit.text(ours)]
    wanted = [f"{sign} {target.must:g} ×", f"{sign} {target.aim:g} ×"]
    if ours is None or not theirs:
        return [*row, "–", *wanted, ""]
    ratio = ours / theirs
    verdict = "aim reached" if target.reached(ratio, target.aim) else "reached"
    return [*row, f"{ratio:.2f} ×", *wanted, verdict if target.reached(ratio, target.must) else "missed"]


def limit_rows(figures: dict[str, Medians]) -> list[Row]:
    rows = [_limit_row(limit, figures) for limit in LIMITS]
    return [row for row in rows if row]


def _limit_row(limit: Limit, figures: dict[str, Medians]) -> Row:
    ours, theirs = (limit.value(figures.get(name, {})) for name in ("penstock", "kafka"))
    if ours is None:
        return []
    verdict = "reached" if limit.holds(ours) else "missed"
    return [limit.title, limit.unit.text(theirs), limit.unit.text(ours), "", limit.wanted, "", verdict]


def detail_rows(figures: dict[str, Medians]) -> list[Row]:
    """What is reported beside the figures to reach, a row for each work and broker."""
    rows = []
    for work in dict.fromkeys(name for medians in figures.values() for name in medians):
        for broker, medians in figures.items():
            one = medians.get(work, {})
            if any(key in one for key, _, _ in DETAILS):
                cells = [f"{one[key]:,.{digits}f}" if key in one else "–" for key, _, digits in DETAILS]
                rows.append([work, broker, *cells])
    return rows


def memory_rows(figures: dict[str, Medians]) -> list[Row]:
    rows = []
    for broker, medians in figures.items():
        for name, title in (("memory_idle", "idle"), ("memory_loaded", "after the load")):
            if name in medians:
                keys = ("rss_anon_mb", "rss_file_mb", "rss_mb")
                rows.append([broker, title, *(f"{medians[name][key]:,.0f}" for key in keys)])
    return rows


def connection_rows(figures: dict[str, Medians]) -> list[Row]:
    keys = ("held", "errors", "set_up_p50_ms", "set_up_p99_ms", "kib_per_connection", "requests_per_s")
    return [
        [broker, *(f"{medians['connections'][key]:,.{2 if key.endswith('_ms') else 0}f}" for key in keys)]
        for broker, medians in figures.items()
        if "held" in medians.get("connections", {})
    ]


def tables(figures: dict[str, Medians]) -> list[tuple[Row, list[Row]]]:
    """Headings and rows of every table that has rows."""
    all_tables = [
        (HEADINGS, ratio_rows(figures) + limit_rows(figures)),
        (["memory, MB", "when", "RssAnon", "RssFile", "sum"], memory_rows(figures)),
        (
            ["connections", "held", "errors", "set-up p50 ms", "set-up p99 ms", "KiB each", "busy req/s"],
            connection_rows(figures),
        ),
        (["work", "broker", *(title for _, title, _ in DETAILS)], detail_rows(figures)),
    ]
    return [(headings, rows) for headings, rows in all_tables if rows]


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
    parts = [f"Measured {result['at'][:10]} on {machine_text(result['machine'])}; {result['conditions']}."]
    for headings, rows in tables(result["medians"]):
        lines = [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]
        parts.append("\n".join(line.replace("|  |", "| |") for line in lines))
    return "\n\n".join(parts)


def machine_text(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}"
    )


def load(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def latest(*, with_broker: str | None = None) -> Path | None:
    """The newest result of `make bench`, or the newest in which the given broker was measured."""
    for path in sorted(RESULTS.glob("*.json"), reverse=True):
        medians = load(path).get("medians", {})
        if medians and (with_broker is None or with_broker in medians):
            return path
    return None


def write(path: Path) -> None:
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} has no {BEGIN} … {END}")
    PAGE.write_text(f"{before}{BEGIN}\n{markdown(load(path))}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("result", nargs="?", type=Path, default=latest(with_broker="kafka"))
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    if options.result is None:
        sys.exit("no result yet: make bench")
    if options.write:
        write(options.result)
    else:
        print(text(load(options.result)["medians"]))


if __name__ == "__main__":
    main()
