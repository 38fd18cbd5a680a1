"""Implementations are chosen by name, and a name that nobody has is a start error that lists what there is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.config.settings import Settings
from penstock.node.errors import StartError
from penstock.node.node import Node
from tests.support import batches
from tests.support.hierarchy import HierarchyNode
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("P-01")


def start_error(tmp_path: Path, **sections: dict[str, object]) -> str:
    base: dict[str, dict[str, object]] = {
        "node": {"data_dir": str(tmp_path / "data")},
        "kafka": {"port": 0},
        "http": {"port": 0},
        "push": {"enabled": False},
    }
    settings = Settings.model_validate({**base, **sections})
    with pytest.raises(StartError) as error:
        asyncio.run(Node(settings).start())
    return str(error.value)


def test_an_unknown_name_lists_what_there_is(tmp_path: Path) -> None:
    assert "there is disk, memory, cache" in start_error(tmp_path, storage={"engine": "tape"})
    assert "there is tcp, unix, abstract" in start_error(tmp_path, network={"type": "pigeon"})
    assert "there is http, kafka, plain" in start_error(tmp_path, pipe={"type": "carrier"})


def test_an_address_that_does_not_fit_is_a_start_error(tmp_path: Path) -> None:
    assert "http://host:port" in start_error(tmp_path, pipe={"parent_url": "root:9092"})
    assert "host:port of a Kafka broker" in start_error(
        tmp_path, pipe={"type": "kafka", "parent_url": "http://root:8080"}
    )
    assert "abstract:@name" in start_error(tmp_path, network={"type": "abstract"})


def test_a_node_of_somebody_elses_parts(tmp_path: Path) -> None:
    """Storage and pipe of the other package, in a running broker."""
    root = HierarchyNode(tmp_path / "root").begin()
    child = HierarchyNode(tmp_path / "child", root.url, pipe="  type: plain\n")
    child.extra_environment = {"PENSTOCK_STORAGE__ENGINE": "cache"}
    try:
        child.begin()
        with RawClient(root.host, root.port) as client:
            client.create_topic("prices")
            client.appended("prices", batches.values(b"a"))
        child.wait_for_ends("prices", [1])
        assert (child.data_directory / "cache.db").exists()
    finally:
        child.kill9()
        root.kill9()
