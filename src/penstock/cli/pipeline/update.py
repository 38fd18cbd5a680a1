"""Updates of a project: start or find Spark, and pass on the events of its worker one by one.

The worker is a process of its own (`penstock_spark.pipelines.worker`), so that this package does not need Spark, and
so that everything that Spark and a project's definitions print goes to the log of the run and not to the screen.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.cli.log.tail import telling_line
from penstock.cli.pipeline.project import Project
from penstock.cli.pipeline.spark_environment import spark_environ
from penstock.cli.pipeline.spark_server import START_TIMEOUT_S, SparkServer
from penstock.cli.processes.child_process import ChildProcess
from penstock.cli.terminal.errors import CommandError, ExitCode

LOCAL = "local[*]"
CONNECT_TIMEOUT_S = 10.0
"""How long a running server may take to accept a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where to run: on a cluster or this machine, where a server is started, or on a running server."""

    master: str = LOCAL
    remote: str | None = None

    @property
    def name(self) -> str:
        return self.remote or self.master

    @property
    def is_local(self) -> bool:
        return self.remote is None and self.master.startswith("local")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Options of an update."""

    dry: bool = False
    full_refresh: bool = False
    tables: tuple[str, ...] = ()
    """The tables to update; all if empty."""
    every_s: float | None = None
    show: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)

    def request(self, project: Project, remote: str, patience_s: float) -> dict[str, Any]:
        """The fields of `penstock_spark.pipelines.worker.Request`."""
        return {
            "spec": str(project.spec),
            "storage": project.storage,
            "remote": remote,
            "patience_s": patience_s,
            "configuration": dict(self.conf),
            "dry": self.dry,
            "full_refresh_all": self.full_refresh and not self.tables,
            "full_refresh": list(self.tables) if self.full_refresh else [],
            "refresh": [] if self.full_refresh else list(self.tables),
            "every_s": self.every_s,
            "show": list(self.show),
        }


def parse_where(master: str | None, remote: str | None) -> Where:
    if master and remote:
        raise CommandError("--master and --remote cannot be used together", ExitCode.USAGE)
    if remote:
        if not remote.startswith("sc://"):
            hint = "write, for instance, sc://localhost:15002"
            raise CommandError(f"--remote {remote} is not a Spark Connect address", ExitCode.USAGE, hint=hint)
        return Where(remote=remote)
    if not master:
        return Where()
    if not master.startswith(("local", "spark://", "k8s://", "yarn")):
        hint = "use local[4], spark://host:7077, k8s://https://host:443 or yarn"
        raise CommandError(f"--master {master} is not the address of a cluster", ExitCode.USAGE, hint=hint)
    return Where(master=master)


@contextlib.contextmanager
def update_events(project: Project, where: Where, wanted: Wanted, log: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Start the processes of an update, which end with the block in every case, and yield its events."""
    environ = spark_environ()
    with contextlib.ExitStack() as running:
        remote, server = where.remote, None
        if remote is None:
            conf = project.configuration | dict(wanted.conf)
            server = SparkServer(
                name=f"penstock {project.name}",
                master=where.master,
                state=project.state,
                log=log,
                environ=environ,
                conf={key: value for key, value in conf.items() if key.startswith("spark.")},
            )
            running.enter_context(server)
            remote, environ = server.address, environ | server.secret
        request = json.dumps(wanted.request(project, remote, START_TIMEOUT_S if server else CONNECT_TIMEOUT_S))
        command = [sys.executable, "-m", "penstock_spark.pipelines.worker", request]
        worker = ChildProcess(command, environ=environ, directory=project.directory, log=log, piped=True)
        running.enter_context(worker)  # loads its libraries while the server starts
        if server is not None:
            server.wait_until_ready()
        yield _events(worker, log)


def _events(worker: ChildProcess, log: Path) -> Iterator[dict[str, Any]]:
    ended = False
    for line in worker.lines:
        event: dict[str, Any] = json.loads(line)
        ended = ended or event["kind"] in ("completed", "failed")
        yield event
    code = worker.wait()
    if not ended:
        problem = f"the update ended with exit code {code} before it began: {telling_line(log)}"
        raise CommandError(problem, hint=f"the full log is {log}")
