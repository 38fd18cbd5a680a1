"""Modes of everything that lies on disk: nobody but the user that runs the process can read it, whatever the umask."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.net.interface import ServerOptions
from penstock.net.unix import UnixNetwork
from tests.support import batches
from tests.support.broker_process import BrokerProcess
from tests.support.edge_process import EdgeProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.registry_process import RegistryProcess
from tests.support.waiting import wait_until

CONFIG = """\
storage: {min_free_bytes: 1048576, reserve_bytes: 65536}
topics: {defaults: {segment.bytes: 1048576}}
"""


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@contextlib.contextmanager
def started(process: BrokerProcess) -> Iterator[None]:
    process.prepare()
    process.directory.chmod(0o755)  # that of its settings, which others must not replace
    process.start()
    try:
        yield
    finally:
        process.kill9()


def too_wide(directory: Path) -> list[str]:
    """Everything in a directory that others may use, with the mode; the directory itself included."""
    found = [directory, *directory.rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in found}
    return [f"{path}: {mode:o}" for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)]


def produce(process: PenstockProcess, topic: str) -> None:
    with RawClient(process.host, process.port) as client:
        client.create_topic(topic)
        for _ in range(20):
            client.appended(topic, batches.values(os.urandom(200_000)))


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.rglob("*")}


def test_a_broker(tmp_path: Path, no_umask: None) -> None:
    broker = PenstockProcess(tmp_path / "node", CONFIG)
    with started(broker):
        produce(broker, "prices")
        running = names_in(broker.data_directory)
        assert {"meta.db", "meta.db-wal", "meta.db-shm", "catalog.db", "penstock.lock", "reserve"} <= running
        assert len([name for name in running if name.endswith(".log")]) > 2
        assert too_wide(broker.data_directory) == []
        broker.stop()
        assert "clean" in names_in(broker.data_directory)
        assert too_wide(broker.data_directory) == []
        broker.start()
        assert too_wide(broker.data_directory) == []
    assert "chmod" not in broker.log_file.read_text()


def test_the_registry(tmp_path: Path, no_umask: None) -> None:
    registry = RegistryProcess(tmp_path / "registry")
    with started(registry):
        assert registry.register("root-1", url="http://root:1").status == 200
        assert {"registry.db", "registry.db-wal", "registry.lock"} <= names_in(registry.directory / "registry")
        assert too_wide(registry.directory / "registry") == []


def test_the_consumer_application(tmp_path: Path, no_umask: None) -> None:
    broker = PenstockProcess(tmp_path / "node", CONFIG)
    with started(broker):
        produce(broker, "price-topic")
        edge = EdgeProcess(tmp_path / "edge", broker.push_port)
        with started(edge):
            wait_until(lambda: any(n.endswith(".db") for n in names_in(edge.data_directory)), what="an index")
            assert too_wide(edge.data_directory) == []


def test_a_directory_that_was_wide_is_told_of_and_left_alone(tmp_path: Path, no_umask: None) -> None:
    broker = PenstockProcess(tmp_path / "node", CONFIG)
    broker.data_directory.mkdir(0o755)
    with started(broker):
        produce(broker, "prices")
        assert too_wide(broker.data_directory) == [f"{broker.data_directory}: 755"]
        lines = [line for line in broker.log_file.read_text().splitlines() if "chmod" in line]
        assert len(lines) == 1
        assert f"chmod -R go-rwx {broker.data_directory}" in lines[0]


def test_a_unix_socket(tmp_path: Path, no_umask: None) -> None:
    path = tmp_path / "broker.sock"
    server = UnixNetwork().server(ServerOptions(host=f"unix:{path}"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    server.close()
