"""The commands of bulk jobs: exit codes, messages, Ctrl-C, and use without the extra."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from penstock.client.cluster import Cluster
from penstock.client.offsets import LATEST, list_offsets
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from tests.bulk.conftest import Contents
from tests.support.broker_process import free_port
from tests.support.command_line import CommandLine
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until


@pytest.mark.feature("S-04")
def test_there_and_back(penstock: CommandLine, contents: Contents, topic: str, tmp_path: Path) -> None:
    path, archive = tmp_path / "prices.csv", tmp_path / "archive"
    path.write_text("symbol,price\nAAPL,227.5\nMSFT,431.8\n")
    load = ("load", path, "--topic", topic, "--key", "symbol", "--number", "price", "--partitions", 2)
    assert "2 rows into" in penstock(*load).err
    assert "nothing new: 2 rows already loaded" in penstock(*load).err
    assert penstock("archive", topic, archive, "--output", "json").json["rows"] == 2
    assert "nothing new" in penstock("archive", topic, archive).err
    replay = ("replay", archive, "--topic", f"{topic}-back", "--keep-partitions")
    assert "2 records into" in penstock(*replay).err
    assert contents(f"{topic}-back") == contents(topic)


def test_without_a_broker(penstock: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("1\n")
    address = f"127.0.0.1:{free_port()}"
    assert "no broker at" in penstock("load", tmp_path / "a.jsonl", "-t", "t", "-b", address, code=3).err


def test_exit_codes(penstock: CommandLine, client: RawClient, topic: str, tmp_path: Path) -> None:
    told = penstock("load", tmp_path / "none.csv", "--topic", topic, code=4).err
    assert told == f"penstock: file {tmp_path / 'none.csv'} does not exist\n"
    assert f"topic {topic} does not exist" in penstock("archive", topic, tmp_path, code=4).err
    assert "is not an archive" in penstock("replay", tmp_path, "--topic", topic, code=4).err
    (tmp_path / "file").write_text("")
    client.create_topic(f"{topic}-there")
    assert "not a directory" in penstock("archive", f"{topic}-there", tmp_path / "file", code=1).err
    (tmp_path / "_penstock").mkdir()
    (tmp_path / "_penstock" / "t.json").write_text("{")
    assert "is damaged" in penstock("replay", tmp_path, "--topic", topic, code=5).err


def test_without_the_extra(penstock: CommandLine, topic: str, tmp_path: Path) -> None:
    """Where pyarrow is not installed: everything but Parquet works."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "pyarrow.py").write_text("raise ImportError('not here', name='pyarrow')")
    path = f"{tmp_path / 'hidden'}:{os.environ.get('PYTHONPATH', '')}"
    (tmp_path / "a.jsonl").write_text("1\n")
    penstock("load", tmp_path / "a.jsonl", "--topic", topic, PYTHONPATH=path)
    told = penstock("archive", topic, tmp_path / "archive", code=1, PYTHONPATH=path).err
    assert "needs the package pyarrow" in told
    assert "pip install 'penstock[spark]'" in told


def test_interrupted(penstock: CommandLine, cluster: Cluster, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{number}\n" for number in range(20_000)))
    command = ("load", path, "--topic", topic, "--transaction-rows", 20)
    with penstock.started(*command) as process:
        wait_until(lambda: _end(cluster, topic) > 200, what="the first rows and their markers", within_s=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    begun = len(contents(topic))  # at once: no open transaction holds them back
    assert 100 <= begun < 20_000
    assert f"{20_000 - begun:,} rows into" in penstock(*command[:-2]).err
    assert [int(each.value or b"") for each in contents(topic)] == list(range(20_000))


def _end(cluster: Cluster, topic: str) -> int:
    place = TopicPartition(topic, 0)
    try:
        return list_offsets(cluster, {place: LATEST}, committed=False)[place]
    except KafkaError:
        return 0
