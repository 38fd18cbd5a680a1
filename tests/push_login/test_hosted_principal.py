"""Consumers in the process of a broker whose doors want TLS and a login: they act as a principal of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.registry_process import all_running
from tests.support.secured_hierarchy import SecuredNode, rule
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-10", "F-05")

MODULE = """
import pathlib
from penstock import consumer, message_handler

@consumer(topic="orders", group="hosted")
class Orders:
    @message_handler
    def handle(self, body: bytes) -> None:
        with pathlib.Path(__file__).with_name("out").open("ab") as out:
            out.write(body + b"\\n")
"""
RIGHTS = (rule("till", "READ", "TOPIC", "orders"), rule("till", "READ", "GROUP", "hosted"))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[SecuredNode]:
    (tmp_path / "orders.py").write_text(MODULE)
    consumers = {"modules": str(tmp_path / "orders.py"), "principal": "User:till"}
    process = SecuredNode(tmp_path / "node", Authority(tmp_path / "tls"), *RIGHTS, consumers=consumers)
    with all_running(process):
        yield process


def test_they_need_the_rights_of_their_principal_and_no_login(node: SecuredNode, tmp_path: Path) -> None:
    def handled() -> list[str]:
        out = tmp_path / "out"
        return out.read_text().split() if out.exists() else []

    assert node.ask("/api/v1/topics", method="POST", document={"name": "orders", "partitions": 1}).status == 201
    node.produce("orders", "one")
    wait_until(lambda: handled() == ["one"], what="the consumer handles the message")
    node.rules(RIGHTS[0])
    wait_until(lambda: node.log_lines('"principal": "User:till"'), what="the consumer is refused")
    node.produce("orders", "two")
    (first, *_) = node.log_lines('"principal": "User:till"')
    assert '"resource": "hosted"' in first
    assert '"host": "127.0.0.1"' in first
    assert handled() == ["one"]
    node.rules(*RIGHTS)
    wait_until(lambda: handled() == ["one", "two"], what="the consumer goes on")
