"""The system calls of a broker: a completed sync before each Produce answer, and the effect of failing calls.

The broker is a real process; strace watches it or makes some of its calls fail.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import strace
from tests.support.batches import Record, batch, values
from tests.support.fixtures import PENSTOCK_CONFIG
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.variants import variants
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path, PENSTOCK_CONFIG + "  checkpoint_interval_ms: 300\n")
    process.prepare()
    process.start()
    yield process
    if process.running:
        process.kill9()


class Strace(strace.Strace):
    """A test that cannot have it is skipped."""

    def __enter__(self) -> strace.Strace:
        try:
            return super().__enter__()
        except strace.CannotAttach as error:
            pytest.skip(f"strace cannot attach here: {error}")


CALL = re.compile(r"^(?P<thread>\d+)\s+(?P<name>\w+)\((?P<args>.*)$")
RESUMED = re.compile(r"^(?P<thread>\d+)\s+<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)$")
FILE = re.compile(r"^\d+<(?P<path>[^>]*)>")
ERRORS = variants("error", [("EIO",), ("ENOSPC",)], quick=[("EIO",)])
SYNCS = {"fdatasync", "fsync", "syncfs"}
WRITES = {"pwritev", "pwritev2", "pwrite64"}
ANSWERS = {"write", "writev", "sendto", "sendmsg"}


def check_order(lines: list[str]) -> tuple[int, int]:
    """No byte leaves by a socket while a segment has unsynced writes; returns the numbers of writes and answers."""
    dirty: set[str] = set()
    syncing: dict[str, set[str]] = {}  # by thread: what was dirty when its sync began
    writes = answers = 0
    for line in lines:
        if match := RESUMED.match(line):
            if match["name"] in SYNCS and match["rest"].rstrip().endswith("= 0"):
                dirty -= syncing.pop(match["thread"], set())
            continue
        match = CALL.match(line)
        if match is None:
            continue
        found = FILE.match(match["args"])
        path = found["path"] if found else ""
        if match["name"] in WRITES and path.endswith(".log"):
            dirty.add(path)
            writes += 1
        elif match["name"] in SYNCS:
            covered = set(dirty) if match["name"] == "syncfs" else {path} & dirty
            if line.rstrip().endswith("= 0"):
                dirty -= covered
            else:
                syncing[match["thread"]] = covered
        elif match["name"] in ANSWERS and path.startswith("socket:"):
            assert not dirty, f"answered before the sync of {dirty}: {line}"
            answers += 1
    return writes, answers


@pytest.mark.feature("X-01")
def test_a_completed_sync_before_each_answer(broker: PenstockProcess, tmp_path: Path) -> None:
    calls = "trace=pwritev,pwritev2,pwrite64,fdatasync,fsync,syncfs,write,writev,sendto,sendmsg"
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic(partitions=2)
        with Strace(broker.pid, tmp_path / "trace", "-e", calls) as traced:
            for number in range(20):
                client.appended(topic, values(f"v{number}"), partition=number % 2)
        writes, answers = check_order(traced.lines())
    assert writes >= 20
    assert answers >= 20


def test_the_check_notices_an_early_answer() -> None:
    lines = [
        "7 pwritev(12</d/0.log>, [...], 1, 0, 0) = 70",
        "8 fdatasync(12</d/0.log> <unfinished ...>",
        "7 write(20<socket:[5]>, ..., 60) = 60",
        "8 <... fdatasync resumed>) = 0",
    ]
    with pytest.raises(AssertionError, match="answered before"):
        check_order(lines)
    assert check_order([lines[0], lines[1], lines[3], lines[2]]) == (1, 1)


def health(broker: PenstockProcess) -> dict[str, Any]:
    url = f"http://{broker.host}:{broker.http_port}/health/ready"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            report: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        report = json.load(error)
    return report


def ready(broker: PenstockProcess) -> bool:
    return bool(health(broker)["ready"])


@pytest.mark.feature("X-01", "F-06")
@ERRORS
def test_a_failed_flush_takes_one_partition_offline_until_a_restart(
    broker: PenstockProcess, tmp_path: Path, error: str
) -> None:
    calls = "fdatasync,syncfs"
    with RawClient(broker.host, broker.port) as client:
        broken, fine = client.create_topic(), client.create_topic()
        for topic in (broken, fine):
            client.appended(topic, values("before"))
        with Strace(
            broker.pid, tmp_path / "trace", "-e", f"trace={calls}", "-e", f"inject={calls}:error={error}:when=1"
        ):
            answer = client.produce(broken, values("lost?"))
        assert answer.error_code == ErrorCode.kafka_storage_error
        assert client.produce(broken, values("refused")).error_code == ErrorCode.kafka_storage_error
        assert client.fetch(broken, 0).error_code == ErrorCode.kafka_storage_error
        client.appended(fine, values("after"))
        assert not ready(broker)
    broker.kill9()
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        assert ready(broker)
        assert [record.value for record in client.fetch_records(broken)][:1] == [b"before"]
        client.appended(broken, values("again"))
        assert [record.value for record in client.fetch_records(fine)] == [b"before", b"after"]


@pytest.mark.feature("F-06")
@ERRORS
def test_a_write_that_fails_harms_nothing(broker: PenstockProcess, tmp_path: Path, error: str) -> None:
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic()
        client.appended(topic, values("one"))
        inject = f"inject=pwritev,pwritev2:error={error}:when=1"
        with Strace(broker.pid, tmp_path / "trace", "-e", "trace=pwritev,pwritev2", "-e", inject):
            assert client.produce(topic, values("no room")).error_code == ErrorCode.kafka_storage_error
            assert client.appended(topic, values("two")) == 1
        broker.kill9()
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        assert [record.value for record in client.fetch_records(topic)] == [b"one", b"two"]


@pytest.mark.feature("P-05")
@ERRORS
def test_recovery_points_that_fail_are_tried_again(broker: PenstockProcess, tmp_path: Path, error: str) -> None:
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic()
        with Strace(
            broker.pid, tmp_path / "trace", "-e", "trace=rename", "-e", f"inject=rename:error={error}:when=1..2"
        ):
            client.appended(topic, values("one"))
            wait_until(lambda: "no recovery point" in broker.log_tail(), what="a recovery point fails")
            assert client.appended(topic, values("two")) == 1
        wait_until(lambda: list(broker.data_directory.rglob("*.snapshot")), what="a recovery point is written")
        assert [record.value for record in client.fetch_records(topic)] == [b"one", b"two"]


COMPACTED = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.01"}


@pytest.mark.feature("P-05", "K-13")
@ERRORS
def test_compaction_whose_renames_fail_harms_nothing(broker: PenstockProcess, tmp_path: Path, error: str) -> None:
    def newest(client: RawClient) -> dict[bytes | None, bytes | None]:
        found: dict[bytes | None, bytes | None] = {}
        offset, end = 0, client.log_end(topic)
        while offset < end:
            records = client.fetch_records(topic, offset)
            found |= {record.key: record.value for record in records}
            offset = records[-1].offset + 1
        return found

    written: dict[bytes | None, bytes | None] = {}
    written_bytes = 0
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic(configs=COMPACTED)
        with Strace(
            broker.pid, tmp_path / "trace", "-e", "trace=rename", "-e", f"inject=rename:error={error}:when=1..6"
        ):
            for number in range(40):
                key, value = b"%d" % (number % 7), b"%d" % number + bytes(100_000)
                records = batch([Record(key=key, value=value)])
                client.appended(topic, records)
                written[key] = value
                written_bytes += len(records)
            wait_until(lambda: "(INJECTED)" in (tmp_path / "trace").read_text(), what="a rename fails")
            assert newest(client) == written
        # Perhaps it has, before strace let go: so the size is compared with what was written, not with what was there.
        wait_until(lambda: broker_bytes(broker) < written_bytes, what="compaction has worked after all")
        assert newest(client) == written
    broker.kill9()
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        assert newest(client) == written


def broker_bytes(broker: PenstockProcess) -> int:
    total = 0
    for path in (broker.data_directory / "topics").rglob("*.log"):
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile, as compaction does it
            total += path.stat().st_size
    return total


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    directory = tmp_path / "small"
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(directory)], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not possible here")
    yield directory
    subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.mark.feature("F-06", "F-13", "P-05")
@pytest.mark.parametrize(("min_free_bytes", "reserve_bytes"), [(0, 0), (3 << 20, 1 << 20)])
def test_a_tiny_disk_fills_up_and_is_emptied(small_disk: Path, min_free_bytes: int, reserve_bytes: int) -> None:
    """Acknowledged records stay readable. With a limit, the health check and a metric report it until it is over."""
    watched = min_free_bytes > 0
    config = PENSTOCK_CONFIG + f"  min_free_bytes: {min_free_bytes}\n  reserve_bytes: {reserve_bytes}\n"
    broker = PenstockProcess(small_disk, config + "  disk_check_interval_ms: 50\n")
    broker.prepare()
    broker.start()
    try:
        acknowledged = fill(broker)
        if watched:
            told = ("too little free disk: produce is refused", 0)
            wait_until(lambda: disk_alert(broker) == told, what="the next look at the disk is told")
        with RawClient(broker.host, broker.port) as client:
            found = [record.value for record in client.fetch_records("big", partition_max_bytes=16 << 20)]
            assert found == acknowledged
        broker.kill9()
        broker.start()
        with RawClient(broker.host, broker.port) as client:
            found = [record.value for record in client.fetch_records("big", partition_max_bytes=16 << 20)]
            assert found == acknowledged
            client.delete_topic("big")

            def created() -> bool:
                return bool(client.create_topics_answer("again").error_code == ErrorCode.none)

            wait_until(created, what="there is room for a topic")

            def accepted() -> bool:
                return bool(client.produce("again", values("room")).error_code == ErrorCode.none)

            wait_until(accepted, what="produce is accepted again")
        wait_until(lambda: disk_alert(broker) == (None, 1), what="all is well again")
    finally:
        broker.kill9()


def disk_alert(broker: PenstockProcess) -> tuple[str | None, float] | None:
    """The disk in /health/ready, and the metric of the alert; None while the port is not open."""
    try:
        return health(broker)["problems"].get("disk"), metric(broker, "penstock_writes_accepted")
    except urllib.error.URLError:
        return None


def fill(broker: PenstockProcess) -> list[bytes]:
    """Produce until the broker refuses; returns what it acknowledged."""
    acknowledged: list[bytes] = []
    with RawClient(broker.host, broker.port) as client:
        client.create_topic("big")
        for number in range(200):
            value = f"{number}:".encode() + bytes(100_000)
            answer = client.produce("big", values(value))
            if answer.error_code != ErrorCode.none:
                assert answer.error_code == ErrorCode.kafka_storage_error
                return acknowledged
            acknowledged.append(value)
    raise AssertionError("20 MB went onto a disk of 8 MiB")
