"""`penstock pipeline run` on a Spark of its own: from a new project to the second update, Ctrl-C, and no leftovers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from penstock.cli.demo.pipeline import SHORT_LIVED
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine, heed_interrupts
from tests.support.pipelines import PIPELINE_TIMEOUT_S, Project
from tests.support.raw_client import RawClient, unique_name
from tests.support.trading import publish
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def fresh(broker: BrokerProcess, client: RawClient, tmp_path: Path) -> Project:
    """The project that `penstock pipeline init` writes, over a topic of its own."""
    command = CommandLine(f"{broker.host}:{broker.port}", timeout_s=PIPELINE_TIMEOUT_S)
    topic = client.create_topic(unique_name("events"))
    command("pipeline", "init", tmp_path / "fresh", "--topic", topic)
    quick = f"spark.driver.extraJavaOptions={SHORT_LIVED['spark.driver.extraJavaOptions']}"
    return Project(tmp_path / "fresh", command, {"topic": topic}, ("--master", "local[2]", "--conf", quick))


def rows(run: dict[str, dict[str, int]]) -> list[int]:
    """Of the table of records and of the view of it."""
    return [run["tables"][name] for name in sorted(run["tables"], key=len)]


@pytest.mark.feature("S-03")
def test_a_new_project_runs_and_goes_on_in_the_next_process(fresh: Project, client: RawClient) -> None:
    topic = fresh.conf["topic"]
    publish(client, topic, ["a", "", "c"])
    assert rows(fresh.run()) == [3, 1]
    publish(client, topic, ["d"])
    again = fresh.run()
    assert rows(again)[0] == 4, "tables outlive the Spark that wrote them"
    assert [flow["rows"] for flow in again["flows"] if flow["batches"]] == [1], "only what is new is read"
    state = fresh.directory / "state"
    assert sorted(path.name for path in fresh.directory.iterdir() if not path.name.startswith(".")) == [
        "README.md", "spark-pipeline.yml", "state", "transformations",
    ]  # fmt: skip
    assert {"_checkpoints", "catalog", "lock", "logs", "run.json", "warehouse"} <= {
        path.name for path in state.iterdir()
    }


def started(project: Project, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "penstock", "pipeline", "run", str(project.directory), *project.spark, *options]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=project.command.environ, preexec_fn=heed_interrupts
    )


def until_line(process: subprocess.Popen[str], word: str) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"it ended without a line with {word!r}")


@pytest.mark.feature("S-03")
def test_watch_repeats_until_interrupted(fresh: Project, client: RawClient) -> None:
    topic = fresh.conf["topic"]
    publish(client, topic, ["a"])
    process = started(fresh, "--watch", "--every", "100ms")
    children = []
    try:
        assert "batch 0, 1 row in" in until_line(process, "batch")
        children = psutil.Process(process.pid).children(recursive=True)
        publish(client, topic, ["", "c"])
        assert "2 rows" in until_line(process, "batch 1, ")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
    assert len(children) >= 2
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    assert fresh("status").json["run"]["updates"] >= 1


def test_ctrl_c_and_kill_leave_nothing_running(fresh: Project, client: RawClient) -> None:
    publish(client, fresh.conf["topic"], ["a"])
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = started(fresh)
        try:
            until_line(process, "the log of Spark is")
            wait_until(lambda: psutil.Process(process.pid).children(), what="Spark starts")  # noqa: B023
            children = psutil.Process(process.pid).children(recursive=True)
            os.kill(process.pid, number)
            assert process.wait(60) == code
        finally:
            process.kill()
        _, alive = psutil.wait_procs(children, timeout=30)
        assert not alive
        assert fresh("status").json["run"]["state"] == "interrupted"
    assert rows(fresh.run())[0] == 1, "and the next run goes on"
