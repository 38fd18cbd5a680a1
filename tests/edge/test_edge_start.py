"""How the application starts, and how it tells that it cannot."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.edge.conftest import NewEdge
from tests.support.broker_process import free_port
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.feature("P-13")
penstock = CommandLine(None)


def test_it_starts_without_a_broker_and_a_second_one_is_refused(new_edge: NewEdge) -> None:
    edge = new_edge(free_port())
    edge.start()
    assert edge.messages() == []
    assert edge.get("/messages/latest").status == 404
    other = penstock("edge", "--data-dir", edge.data_directory, "--port", 0, code=1)
    assert f"in use by process {edge.pid}" in other.err
    edge.stop()


def test_a_start_that_fails_says_what_to_do(tmp_path: Path) -> None:
    unknown = penstock("edge", "--type", "prize", "--data-dir", tmp_path / "a", "--port", 0, code=1)
    assert "no consumer type prize; there are plain, price" in unknown.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = penstock("edge", "--data-dir", tmp_path / "b", "--port", port, code=1)
    assert f"HTTP port {port}" in busy.err
    assert "another port with --port" in busy.err
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "file").write_text("somebody's")
    foreign = penstock("edge", "--data-dir", tmp_path / "c", "--port", 0, code=1)
    assert "not a Penstock data directory" in foreign.err


def test_help_names_the_variables_and_their_defaults() -> None:
    text = " ".join(penstock("edge", "--help").out.split())
    for variable in ("TYPE", "TOPIC", "GROUP", "PORT"):
        assert f"CONSUMER_{variable}" in text
    for part in ("BROKER_HOST", "BROKER_PORT", "STORAGE_DATA_DIR", "price-topic", "price-group", "8082", "9999"):
        assert part in text
    assert "consumer-data" in text
