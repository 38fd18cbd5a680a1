"""An archive that dies: at every file operation, and by kill -9. A reader of the directory sees no row twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.bulk.archiving import archive, fill, make_topic
from tests.bulk.conftest import Contents
from tests.support.archive_rows import archive_files, archive_rows, assert_sorted
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.raw_client import RawClient
from tests.support.sudden_death import FILES, Death, death_at
from tests.support.waiting import wait_until


@pytest.mark.crash
@pytest.mark.feature("S-04")
@pytest.mark.parametrize(
    "after", [pytest.param(False, id="before"), pytest.param(True, id="after", marks=pytest.mark.full)]
)
def test_death_at_every_file_operation(
    broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, tmp_path: Path, after: bool
) -> None:
    make_topic(client, topic, 2)
    fill(client, topic, 4, partitions=2, days=2)
    archive(broker, topic, tmp_path)
    call = 0
    is_over = False
    while not is_over:
        call += 1
        fill(client, topic, 4, partitions=2, days=2, seed=call)
        expected = contents(topic)
        is_over = True
        with death_at(call, FILES, after=after):
            try:
                archive(broker, topic, tmp_path, step_rows_max=60)
            except Death:
                is_over = False
        seen = archive_rows(tmp_path, topic)
        assert len(set(seen)) == len(seen)
        assert set(seen) <= set(expected)
        archive(broker, topic, tmp_path, step_rows_max=60)
        assert archive_rows(tmp_path, topic) == expected
    assert call > 10
    assert len(archive_files(tmp_path)) == 2
    for path in archive_files(tmp_path):
        assert_sorted(path)


@pytest.mark.full
@pytest.mark.crash
@pytest.mark.feature("S-04")
def test_killed_twice(penstock: CommandLine, client: RawClient, contents: Contents, topic: str, tmp_path: Path) -> None:
    _kill_again_and_again(penstock, client, contents, topic, tmp_path, kills=2, seed=1)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.feature("S-04")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2))
def test_killed_many_times(
    penstock: CommandLine, client: RawClient, contents: Contents, topic: str, tmp_path: Path, seed: int
) -> None:
    _kill_again_and_again(penstock, client, contents, topic, tmp_path, kills=12, seed=seed)


def _kill_again_and_again(
    penstock: CommandLine,
    client: RawClient,
    contents: Contents,
    topic: str,
    directory: Path,
    *,
    kills: int,
    seed: int,
) -> None:
    """Whenever the manifest has changed some times, wherever the process is then."""
    chance = random.Random(seed)
    make_topic(client, topic, 3)
    fill(client, topic, 40 * (kills + 1), partitions=3, days=3, seed=seed)
    expected = contents(topic)
    manifest = directory / "_penstock" / f"{topic}.json"
    command = ("archive", topic, directory, "--file-size", "20K")

    def revision() -> int:
        return manifest.stat().st_mtime_ns if manifest.exists() else 0

    for _ in range(kills):
        changes, last = chance.randrange(1, 6), revision()
        with penstock.started(*command, "--commit-rows", 20) as process:
            for _ in range(changes):
                wait_until(lambda: process.poll() is not None or revision() != last, what="a commit", within_s=60)  # noqa: B023
                last = revision()
            assert process.poll() is None
            process.kill()
        seen = archive_rows(directory, topic)
        assert len(set(seen)) == len(seen)
    penstock(*command)
    assert archive_rows(directory, topic) == expected
    for path in archive_files(directory):
        assert_sorted(path)
