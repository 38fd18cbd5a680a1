"""`load --spark` and `archive --spark`, killed in the middle and run again: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bulk.archiving import fill, make_topic
from tests.support.archive_rows import archive_rows
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.raw_client import RawClient, unique_name
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PATIENCE_S = 300.0


@pytest.fixture
def penstock(broker: BrokerProcess) -> CommandLine:
    return CommandLine(broker.bootstrap, timeout_s=PATIENCE_S)


class Killed:
    """A command that is killed with all that it has started."""

    def __init__(self, penstock: CommandLine, *args: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *map(str, args)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=penstock.environ, start_new_session=True,
        )  # fmt: skip

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)


@pytest.mark.crash
@pytest.mark.feature("S-04")
def test_a_load_that_is_killed(broker: BrokerProcess, client: RawClient, penstock: CommandLine, tmp_path: Path) -> None:
    topic, files, rows = client.create_topic(unique_name("loaded"), partitions=2), 350, 20
    (tmp_path / "in").mkdir()
    for number in range(files):
        lines = "".join(f"{number * rows + row},x\n" for row in range(rows))
        (tmp_path / "in" / f"{number:04}.csv").write_text(f"id,name\n{lines}")
    options = ("--topic", topic, "--spark", "--master", "local[2]", "--checkpoint", tmp_path / "job", "--key", "id")
    command = ("load", tmp_path / "in", *options, "--no-progress")
    running = Killed(penstock, *command)
    wait_until(
        lambda: running.is_over or bool(topic_contents(broker.bootstrap, topic)), what="rows", within_s=PATIENCE_S
    )
    running.kill()
    before = len(topic_contents(broker.bootstrap, topic))
    assert 0 < before < files * rows, "it was killed in the middle"
    penstock(*command)
    keys = [int(each.key or b"") for each in topic_contents(broker.bootstrap, topic)]
    assert sorted(keys) == list(range(files * rows))


@pytest.mark.crash
@pytest.mark.feature("S-04")
def test_an_archive_that_is_killed(
    broker: BrokerProcess, client: RawClient, penstock: CommandLine, tmp_path: Path
) -> None:
    topic = unique_name("archived")
    make_topic(client, topic, 3)
    fill(client, topic, 60, partitions=3, days=2)
    command = ("archive", topic, tmp_path, "--spark", "--master", "local[2]", "--commit-rows", 50, "--no-progress")
    running = Killed(penstock, *command)
    wait_until(lambda: running.is_over or bool(archive_rows(tmp_path, topic)), what="a commit", within_s=PATIENCE_S)
    running.kill()
    seen = archive_rows(tmp_path, topic)
    expected = topic_contents(broker.bootstrap, topic)
    assert len(set(seen)) == len(seen)
    assert 0 < len(seen) < len(expected), "it was killed in the middle"
    penstock(*command)
    assert archive_rows(tmp_path, topic) == expected


@pytest.mark.parametrize(
    "command", [("load", "rows.csv", "--topic", "never-made", "--checkpoint", "job"), ("archive", "never-made", "out")]
)
def test_a_java_that_is_too_old(penstock: CommandLine, client: RawClient, tmp_path: Path, command: list[str]) -> None:
    """Told at once, in our words, before anything is made."""
    (tmp_path / "rows.csv").write_text("a\n1\n")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    args = [str(tmp_path / each) if each in ("rows.csv", "job", "out") else each for each in command]
    told = penstock(*args, "--spark", code=1, JAVA_HOME=str(tmp_path)).err
    assert "is Java 11, but Spark needs 17" in told
    assert "never-made" not in [each.name for each in client.call("metadata", 12, topics=None).topics]
