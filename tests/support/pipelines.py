"""Pipeline projects for tests, and a Spark Connect server on which they run: starting one takes longer than a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.demo.pipeline import SHORT_LIVED
from penstock.cli.pipeline.init import copy_example
from penstock.cli.pipeline.spark_environment import spark_environ
from penstock.cli.pipeline.spark_server import SparkServer
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine, Outcome
from tests.support.raw_client import unique_name

PIPELINE_TIMEOUT_S = 500.0


@dataclass
class Project:
    """A pipeline project, and `penstock pipeline …` for it on one Spark."""

    directory: Path
    command: CommandLine
    conf: dict[str, str] = field(default_factory=dict)
    spark: tuple[str, ...] = ()

    def __call__(self, verb: str, *options: object, code: int = 0) -> Outcome:
        running: list[object] = []
        if verb in ("run", "validate"):
            running += self.spark
            for name, value in self.conf.items():
                running += ["--conf", f"{name}={value}"]
        return self.command("pipeline", verb, self.directory, *running, "--output", "json", *options, code=code)

    def run(self, *options: object) -> Any:
        return self("run", *options).json


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a Spark Connect server for all tests, and the environment with its secret."""
    state = tmp_path_factory.mktemp("connect")
    environ, log = spark_environ(), state / "log"
    server = SparkServer(name="tests", master="local[2]", state=state, log=log, environ=environ, conf=SHORT_LIVED)
    with server:
        server.wait_until_ready()
        yield server.address, server.secret


@pytest.fixture
def make_project(
    connect_server: tuple[str, dict[str, str]], broker: BrokerProcess, tmp_path: Path
) -> Callable[..., Project]:
    """A copy of an example with tables of its own on the shared server."""
    address, secret = connect_server

    def make(example: str, **conf: str) -> Project:
        copy_example(example, tmp_path / example)
        spec = tmp_path / example / "spark-pipeline.yml"
        spec.write_text(f"{spec.read_text()}database: {unique_name('d').replace('-', '_')}\n")
        command = CommandLine(f"{broker.host}:{broker.port}", timeout_s=PIPELINE_TIMEOUT_S)
        command.environ |= secret
        return Project(tmp_path / example, command, conf, ("--remote", address))

    return make
