"""The rows of every table of a result, from medians by broker and work."""

from __future__ import annotations

from typing import Any

from bench.spread import Figures
from bench.targets import LIMITS, MESSAGES_A_SECOND, RATIOS, Limit, Medians, Target

Row = list[str]
HEADINGS = ["work", "Apache Kafka", "Penstock", "ratio", "must", "aim", "verdict"]
MISSED, UNJUDGED = "missed", "not judged"
DETAILS = (
    ("p50_ms", "p50 ms", 2),
    ("p99_ms", "p99 ms", 2),
    ("p999_ms", "p99.9 ms", 2),
    ("service_p50_ms", "service p50 ms", 2),
    ("service_p99_ms", "service p99 ms", 2),
    ("cpu_ms_per_1000_messages", "CPU ms per 1,000", 2),
    ("broker_cpu_share", "broker CPU", 2),
    ("generator_cpu_share", "generator CPU", 2),
    ("others_cpu_share", "others' CPU", 2),
)


def ratio_rows(figures: dict[str, Medians]) -> list[Row]:
    penstock, kafka = figures.get("penstock", {}), figures.get("kafka", {})
    return [
        _ratio_row(target, target.value(penstock), target.value(kafka))
        for target in RATIOS
        if target.work in penstock or target.work in kafka
    ]


def _ratio_row(target: Target, ours: float | None, theirs: float | None) -> Row:
    """A work that failed has no figure: without Penstock's the row is missed, without Kafka's it says nothing."""
    sign = "≤" if target.less else "≥"
    row = [target.title, target.unit.text(theirs), target.unit.text(ours)]
    wanted = [f"{sign} {target.must:g} ×", f"{sign} {target.aim:g} ×"]
    if ours is None or not theirs:
        return [*row, "–", *wanted, MISSED if ours is None else UNJUDGED]
    ratio = ours / theirs
    verdict = "aim reached" if target.reached(ratio, target.aim) else "reached"
    return [*row, f"{ratio:.2f} ×", *wanted, verdict if target.reached(ratio, target.must) else MISSED]


def limit_rows(figures: dict[str, Medians]) -> list[Row]:
    return [_limit_row(limit, figures) for limit in LIMITS if limit.work in figures.get("penstock", {})]


def _limit_row(limit: Limit, figures: dict[str, Medians]) -> Row:
    ours, theirs = (limit.value(figures.get(name, {})) for name in ("penstock", "kafka"))
    verdict = "reached" if ours is not None and limit.holds(ours) else MISSED
    return [limit.title, limit.unit.text(theirs), limit.unit.text(ours), "", limit.wanted, "", verdict]


def summary(figures: dict[str, Medians]) -> str:
    """Which of the figures to reach are not."""
    rows = ratio_rows(figures) + limit_rows(figures)
    if not rows:
        return "nothing was measured for which there is a figure to reach"
    lines = []
    for verdict in (MISSED, UNJUDGED):
        titles = [row[0] for row in rows if row[-1] == verdict]
        if titles:
            lines.append(f"{verdict}, {len(titles)} of {len(rows)}: {'; '.join(titles)}")
    return "\n".join(lines) or f"all {len(rows)} figures to reach are reached"


def detail_rows(figures: dict[str, Medians]) -> list[Row]:
    """Figures beside the targets, a row for each work and broker."""
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


def longer_tables(result: dict[str, Any]) -> dict[str, tuple[Row, list[Row]]]:
    """Of the runs with targets of their own, as far as they were made."""
    found = {
        "clients": (["real clients", "Apache Kafka", "Penstock", "ratio"], _client_rows(result.get("clients", {}))),
        "age": (
            ["against a fresh log", "fetch", "produce, batches", "produce, single"],
            _age_rows(result.get("age", {})),
        ),
        "sustained": (
            ["400,000 msg/s for ten minutes", "msg/s", "lost", "p50 ms", "p99 ms", "p99.9 ms", "RSS after, MB"],
            _sustained_rows(result.get("sustained", {})),
        ),
        "load": (
            ["a steady client beside", "ack p99 alone, ms", "beside, ms", "ratio", "allowed, ms", "verdict"],
            _load_rows(result.get("load", {})),
        ),
    }
    return {kind: (headings, rows) for kind, (headings, rows) in found.items() if rows}


def _client_rows(figures: dict[str, Medians]) -> list[Row]:
    rows = []
    for name, ours in figures.get("penstock", {}).items():
        theirs = figures.get("kafka", {}).get(name)
        texts = [MESSAGES_A_SECOND.text(one["messages_per_s"] if one else None) for one in (theirs, ours)]
        ratio = f"{ours['messages_per_s'] / theirs['messages_per_s']:.2f} ×" if theirs else "–"
        rows.append([name, *texts, ratio])
    return rows


def _age_rows(figures: dict[str, Figures]) -> list[Row]:
    titles = {"segments": "1,000 segments", "partitions": "10,000 partitions"}
    kinds = ("fetch", "produce_batches", "produce_single")
    return [[titles[name], *(f"{ratios[kind]:.2f} ×" for kind in kinds)] for name, ratios in figures.items()]


def _sustained_rows(figures: dict[str, Figures]) -> list[Row]:
    rows = []
    for broker, one in figures.items():
        latency = [f"{one[key]:,.2f}" for key in ("p50_ms", "p99_ms", "p999_ms")]
        share, size = f"{one['lost_share']:.2%}", f"{one['rss_after_mb']:,.0f}"
        rows.append([broker, f"{one['messages_per_s']:,.0f}", share, *latency, size])
    return rows


def _load_rows(cases: dict[str, dict[str, Any]]) -> list[Row]:
    rows = []
    for title, one in cases.items():
        alone, beside = (one[name]["acknowledged"]["p99_ms"] for name in ("alone", "beside"))
        verdict = UNJUDGED if not one["judged"] else MISSED if one["problem"] else "reached"
        ratio, allowed = one["factor"]["acknowledged"], one["limit_ms"]["acknowledged"]
        rows.append([title, f"{alone:.2f}", f"{beside:.2f}", f"{ratio:.2f} ×", f"{allowed:.2f}", verdict])
    return rows
