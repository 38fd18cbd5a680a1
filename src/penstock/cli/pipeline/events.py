"""Progress of an update: the events of `penstock_spark.pipelines.worker`, added up for each flow.

Events are objects with a `kind`:

    message    text: a sentence of Spark about a flow or about the run
    progress   flow, batch, rows, seconds, lag, groups: a batch of a streaming flow is done
    rows       table, columns, rows: a table for --show, or its error
    completed  tables: how many rows each has now
    failed     error, flow, missing: why the update ended; the tables of --show that do not exist
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.model.counted import counted

_STATE = re.compile(r"[Ff]low '?([\w.`]+?)'? (?:is|has|was) (?:been )?([A-Z]{4,})")
ENDED = ("completed", "failed", "skipped", "stopped", "excluded")


@dataclass(slots=True)
class FlowProgress:
    name: str
    state: str = "queued"
    rows: int = 0
    batches: int = 0
    seconds: float = 0.0
    """Time spent on all batches."""
    batch_seconds: float = 0.0
    """Time spent on the last one."""
    lag: int | None = None
    """Records in its topics that it has not read; None if it reads no topic, or if nothing is known yet."""
    groups: list[str] = field(default_factory=list)

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    def document(self) -> dict[str, Any]:
        return {
            "flow": self.name,
            "state": self.state,
            "rows": self.rows,
            "batches": self.batches,
            "batch_seconds": self.batch_seconds,
            "rows_per_second": round(self.rows_per_second, 1),
            "lag": self.lag,
            "groups": self.groups,
        }


@dataclass(slots=True)
class UpdateProgress:
    """One update of a project."""

    started: float = field(default_factory=time.time)
    flows: dict[str, FlowProgress] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    shown: list[Mapping[str, Any]] = field(default_factory=list)
    outcome: str = "running"
    error: str = ""
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, event: Mapping[str, Any]) -> str:
        """Add an event, and return a line about it; empty if the event deserves none."""
        kind = event["kind"]
        if kind == "progress":
            return self._take_progress(event)
        if kind == "message":
            return self._take_message(str(event["text"]))
        if kind == "rows":
            self.shown.append(event)
        elif kind in ("completed", "failed"):
            self.outcome, self.tables = kind, dict(event.get("tables", {}))
            self.error = str(event.get("error", ""))
            self.missing = list(event.get("missing", ()))
            self.seconds = time.time() - self.started
            if kind == "failed" and event.get("flow"):
                self._flow(str(event["flow"])).state = "failed"
        return ""

    def _take_progress(self, event: Mapping[str, Any]) -> str:
        flow = self._flow(event["flow"])
        flow.rows += event["rows"]
        flow.batches += 1
        flow.batch_seconds = event["seconds"]
        flow.seconds += flow.batch_seconds
        flow.groups = list(event["groups"])
        flow.lag = event["lag"]
        lag = "" if flow.lag is None else f", lag {flow.lag:,}"
        return (
            f"{flow.name}: batch {event['batch']}, {counted(event['rows'], 'row')} in {flow.batch_seconds:.2f} s,"
            f" {flow.rows_per_second:,.0f} rows/s{lag}"
        )

    def _take_message(self, text: str) -> str:
        found = _STATE.search(text)
        if found is None:
            return ""
        flow = self._flow(found[1])
        state = found[2].lower()
        if state == flow.state:
            return ""
        flow.state = state
        return f"{flow.name}: {state}" if state in ("running", *ENDED) else ""

    def _flow(self, name: str) -> FlowProgress:
        short = name.replace("`", "").rpartition(".")[2]  # of spark_catalog.default.orders
        return self.flows.setdefault(short, FlowProgress(short))
