"""Results of `penstock bench`, as a document for programs and a table for people."""

from __future__ import annotations

from typing import Any

from penstock.cli.bench.gather import GroupTotals, Second
from penstock.cli.bench.latencies import QUANTILES
from penstock.cli.bench.scenario import Group, Scenario
from penstock.cli.terminal.output import note, print_table
from penstock.model.counted import counted

COLUMNS = ("messages", "per second", "MB/s", *(name for name, _ in QUANTILES), "errors")
# A few messages may become due at the very end, and do not count as unsent.
UNSENT_SHARE_NOTED = 0.01


def document(scenario: Scenario, totals_by_group: dict[str, GroupTotals], began: float, server: str) -> dict[str, Any]:
    groups = {group.name: _group(scenario, group, totals_by_group[group.name], began) for group in scenario.groups}
    return {"scenario": scenario.name, "server": server, "duration_s": scenario.duration, "groups": groups}


def _group(scenario: Scenario, group: Group, totals: GroupTotals, began: float) -> dict[str, Any]:
    total, planned = totals.total, scenario.seconds_of(group)
    seconds = max(totals.last_message - began - group.start, planned)
    return {
        "role": totals.role,
        "topic": group.topic,
        "connections": group.connections,
        "messages": total.messages,
        "bytes": total.size_bytes,
        "errors": total.errors,
        "error": totals.error_text or None,
        "unsent": totals.unsent,
        "seconds": round(seconds, 3),
        "messages_per_second": round(total.messages / seconds, 1),
        "bytes_per_second": round(total.size_bytes / seconds, 1),
        "latency_ms": total.latencies.rounded_ms(),
        "series": [_second(number, totals.seconds[number]) for number in sorted(totals.seconds)],
    }


def _second(number: int, second: Second) -> dict[str, Any]:
    latency = second.latencies.rounded_ms()
    return {
        "second": number,
        "messages": second.messages,
        "bytes": second.size_bytes,
        "errors": second.errors,
        "p50_ms": latency["p50"],
        "p99_ms": latency["p99"],
    }


def show(found: dict[str, Any]) -> None:
    rows = []
    for name, group in found["groups"].items():
        latency = [_milliseconds(group["latency_ms"][quantile]) for quantile, _ in QUANTILES]
        rate, size_rate = group["messages_per_second"], group["bytes_per_second"]
        rows.append([name, group["messages"], f"{rate:,.0f}", f"{size_rate / 1e6:,.1f}", *latency, group["errors"]])
    print_table(["", *COLUMNS], rows, numbers=COLUMNS)
    note("Latency in ms: of producers until the acknowledgement, of consumers end to end.")
    for name, group in found["groups"].items():
        if group["unsent"] > group["messages"] * UNSENT_SHARE_NOTED:
            note(f"{name} could not keep its rate: {counted(group['unsent'], 'message')} could not be sent in time.")


def _milliseconds(value: float | None) -> str | None:
    """Format milliseconds with the three digits that the buckets justify."""
    if value is None:
        return None
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
