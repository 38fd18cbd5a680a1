"""Runs of a project, from lock to record: progress on the screen, the outcome in `state/run.json`."""

from __future__ import annotations

import time
from pathlib import Path

from penstock.cli.kafka.client import connect
from penstock.cli.pipeline.events import UpdateProgress
from penstock.cli.pipeline.project import BOOTSTRAP, Project
from penstock.cli.pipeline.record import RunRecord, last_run
from penstock.cli.pipeline.screen import progress_screen
from penstock.cli.pipeline.tables import defined_tables
from penstock.cli.pipeline.update import Wanted, Where, update_events
from penstock.cli.terminal.output import note


def validate_project(project: Project, where: Where, wanted: Wanted) -> tuple[UpdateProgress, Path]:
    """Make a dry run, which reads, writes and records nothing."""
    progress = UpdateProgress()
    with project.locked():
        log = project.new_log(_label("validate"))
        with update_events(project, where, wanted, log) as events:
            for event in events:
                progress.take(event)
    return progress, log


def run_project(project: Project, where: Where, wanted: Wanted) -> tuple[UpdateProgress, Path]:
    """Run updates with progress on the screen and a record in the project; return the last one and the log."""
    tables = defined_tables(project)
    tables.check("--show", wanted.show)
    tables.check("--table", wanted.tables)
    bootstrap = wanted.conf.get(BOOTSTRAP) or project.configuration.get(BOOTSTRAP, "")
    if bootstrap and where.is_local:
        connect(bootstrap)  # otherwise Spark would fail only after a minute
    with project.locked():
        log = project.new_log(_label("run"))
        kind = "full refresh" if wanted.full_refresh else "incremental"
        record = RunRecord(kind=kind, master=where.name, started=time.time(), log=str(log), bootstrap=bootstrap)
        if (before := last_run(project)) is not None:
            record.tables = before.tables
        record.write(project.record)
        try:
            progress = _follow(project, where, wanted, record, log)
        except BaseException as error:
            record.state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            record.error = "" if isinstance(error, KeyboardInterrupt) else str(error)
            record.write(project.record)
            raise
    return progress, log


def _follow(project: Project, where: Where, wanted: Wanted, record: RunRecord, log: Path) -> UpdateProgress:
    """Return the last update that ended."""
    note(f"{project.name} on {where.name}; the log of Spark is {log}")
    progress = done = UpdateProgress()
    try:
        with update_events(project, where, wanted, log) as events, progress_screen() as tell:
            for event in events:
                tell(progress, progress.take(event))
                if progress.outcome != "running":
                    done, progress = progress, UpdateProgress()
                    _keep(project, record, done)
                    if done.error and wanted.every_s is not None:
                        note(f"{project.name}: {done.error}; trying again")
    except KeyboardInterrupt:
        if wanted.every_s is None:
            note("interrupted; the next run continues from here")
            raise
        note("stopped; the next run continues from here")  # the ordinary end of --watch
    return done


def _keep(project: Project, record: RunRecord, done: UpdateProgress) -> None:
    record.state = done.outcome
    record.seconds = round(done.seconds, 3)
    record.updates += 1
    record.error = done.error
    record.flows = [flow.document() for flow in done.flows.values()]
    record.tables = done.tables or record.tables
    record.write(project.record)


def _label(what: str) -> str:
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + what
