"""A secured Apache Kafka as the parent: the pipe has Kafka's own properties, and mirrors what its user may read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import batches
from tests.support.hierarchy import HierarchyNode
from tests.support.sasl_kafka import SecuredKafka
from tests.support.secured_broker import SecuredBroker
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.compat, pytest.mark.feature("P-12", "F-05")]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    kafka = SecuredKafka(tmp_path_factory.mktemp("kafka"))
    kafka.prepare()
    kafka.start()
    yield kafka.secured
    kafka.kill9()


def child(directory: Path, address: str, properties: dict[str, str]) -> HierarchyNode:
    return HierarchyNode(directory, address, pipe=f"  type: kafka\n  client_properties: {json.dumps(properties)}\n")


@pytest.mark.parametrize(
    ("listener", "mechanism"),
    [("BOTH", "SCRAM-SHA-512"), ("BOTH", "PLAIN"), ("LOGIN", "SCRAM-SHA-256"), ("MUTUAL", None)],
)
def test_what_the_user_may_read_is_mirrored(
    parent: SecuredBroker, tmp_path: Path, listener: str, mechanism: str | None
) -> None:
    topic, closed = parent.new_topic(), parent.new_topic(is_open=False)
    with parent.as_admin() as client:
        for each in (topic, closed):
            client.appended(each, batches.values(b"one"))
    node = child(tmp_path / "child", parent.address(listener), parent.java_properties(listener, mechanism))
    try:
        node.begin()
        node.wait_for_ends(topic, [1])
        assert node.ends(closed) == []
    finally:
        node.kill9()


def test_a_wrong_password_and_a_wrong_host(parent: SecuredBroker, tmp_path: Path) -> None:
    for listener, properties in (
        ("BOTH", parent.properties("BOTH", "SCRAM-SHA-256") | {"sasl.password": "n0t-it"}),
        ("MISNAMED", parent.properties("MISNAMED")),
        ("STRANGER", parent.properties("STRANGER")),
    ):
        node = child(tmp_path / listener, parent.address(listener), properties)
        try:
            node.begin()
            wait_until(lambda node=node: node.pipe["failures"] > 1, what="the node is refused")  # type: ignore[misc]
            assert node.pipe["topics"] == []
            assert "n0t-it" not in node.log_file.read_text()
        finally:
            node.kill9()
