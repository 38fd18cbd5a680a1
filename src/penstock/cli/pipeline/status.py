"""Status of a project without starting Spark: its last run, its tables, and the lag of its groups."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.cli.kafka.client import connect
from penstock.cli.kafka.group import group_lag
from penstock.cli.pipeline.project import BOOTSTRAP, Project
from penstock.cli.pipeline.record import RunRecord, last_run
from penstock.cli.terminal.errors import CommandError
from penstock.cli.terminal.output import note, print_table


def describe(project: Project, bootstrap: str | None, *, ask_broker: bool = True) -> dict[str, Any]:
    record = last_run(project)
    described: dict[str, Any] = {
        "project": project.name,
        "directory": str(project.directory),
        "run": _run(record) if record else None,
        "flows": record.flows if record else [],
        "tables": record.tables if record else {},
        "groups": [],
        "broker": None,
    }
    groups = sorted({group for flow in described["flows"] for group in flow["groups"]})
    if ask_broker and record and groups:
        address = bootstrap or record.bootstrap or project.configuration.get(BOOTSTRAP, "")
        if address:
            described["groups"], described["broker"] = _lags(address, groups)
    return described


def _run(record: RunRecord) -> dict[str, Any]:
    started = datetime.datetime.fromtimestamp(record.started, datetime.UTC)
    return {
        "state": record.state,
        "kind": record.kind,
        "started": started.strftime("%Y-%m-%d %H:%M:%SZ"),
        "seconds": record.seconds,
        "updates": record.updates,
        "master": record.master,
        "error": record.error,
        "log": record.log,
    }


def _lags(address: str, groups: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Return the lag of each group as the broker knows it now, and the address of the broker or its error."""
    try:
        admin = connect(address).admin()
        return [{"group": group, "lag": group_lag(admin, group)} for group in groups], address
    except CommandError as error:
        return [{"group": group, "lag": None} for group in groups], str(error)


def print_status(described: Mapping[str, Any]) -> None:
    run = described["run"]
    if run is None:
        note(f"{described['project']} has not run yet; `penstock pipeline run {described['directory']}` runs it")
        return
    columns = ["project", "last run", "state", "kind", "seconds", "on"]
    row = (described["project"], run["started"], run["state"], run["kind"], f"{run['seconds']:.1f}", run["master"])
    print_table(columns, [row], numbers=["seconds"])
    if run["error"]:
        note(f"the run failed: {run['error']}\nthe full log is {run['log']}")
    if described["flows"]:
        rows = [
            (flow["flow"], flow["state"], flow["rows"] if flow["batches"] else None, flow["batches"] or None)
            for flow in described["flows"]
        ]
        print_table(["flow", "state", "rows read", "batches"], rows, numbers=["rows read", "batches"])
    if described["tables"]:
        print_table(["table", "rows"], described["tables"].items(), numbers=["rows"])
    if described["groups"]:
        lags = [(group["group"], group["lag"]) for group in described["groups"]]
        print_table(["group", "lag"], lags, numbers=["lag"])
        if any(group["lag"] is None for group in described["groups"]):
            note(f"the lag is unknown: {described['broker']}")
