"""Users, rules and tokens that were made, changed and removed count after `kill -9` right behind the answer."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.secured.node import ADMIN, PASSWORD, SecuredNode
from tests.support.acl_client import TOPIC, WRITE, AclClient, matching, rule
from tests.support.batches import values
from tests.support.sasl_client import SaslClient
from tests.support.user_client import SHA_256, SHA_512, alter, deletion, upsertion
from tests.support.variants import variants
from tests.web_login.secured import basic

pytestmark = pytest.mark.feature("F-04", "F-05")

LOGIN = basic(ADMIN, PASSWORD)
TOKENS = "/api/v1/security/tokens"


class World:
    """Changes of each kind, every one answered when its method returns, and their state after a restart."""

    def __init__(self, node: SecuredNode) -> None:
        self.node = node
        self.words: dict[str, str] = {}

    def _web(self, method: str, path: str, body: object = None) -> Any:
        with contextlib.closing(self.node.web()) as web:
            answer = web.ask(path, LOGIN, method=method, body=body)
            assert answer.status < 300, answer
            return answer.json if answer.body else None

    def prepare(self) -> None:
        with self.node.admin() as admin:
            admin.create_topic("t")
            for name in ("gone", "changed"):
                for mechanism in (SHA_256, SHA_512):
                    alter(admin, upsertion(name, mechanism, password="first"))
            AclClient(admin).created(rule(TOPIC, "t", principal="User:changed", operation=WRITE))
        self.words["revoked"] = self._make_token("revoked")

    def _make_token(self, name: str) -> str:
        made = self._web("POST", TOKENS, {"name": name, "principal": "User:changed"})
        return str(made["token"])

    def change_users(self) -> None:
        with self.node.admin() as admin:
            for mechanism in (SHA_256, SHA_512):
                alter(admin, deletion("gone", mechanism))
                alter(admin, upsertion("changed", mechanism, password="second"))
                alter(admin, upsertion("made", mechanism, password="first"))

    def change_rules(self) -> None:
        with self.node.admin() as admin:
            acls = AclClient(admin)
            acls.created(rule(TOPIC, "t", principal="User:made", operation=WRITE))
            acls.delete(matching(principal="User:changed"))

    def change_tokens(self) -> None:
        self.words["made"] = self._make_token("made")
        (old,) = [each for each in self._web("GET", TOKENS)["tokens"] if each["name"] == "revoked"]
        self._web("DELETE", f"{TOKENS}/{old['id']}")

    def _logs_in(self, user: str, password: str) -> bool:
        with self.node.kafka() as client:
            return bool(client.plain(user, password).error_code == ErrorCode.none)

    def _writes(self, user: str, password: str) -> ErrorCode:
        with self.node.kafka() as client:
            return _written(client, user, password)

    def check(self) -> None:
        assert self._logs_in("changed", "second")
        assert self._writes("made", "first") == ErrorCode.none
        assert self._writes("changed", "second") == ErrorCode.topic_authorization_failed
        assert not self._logs_in("gone", "first")
        assert not self._logs_in("changed", "first")
        for name, status in (("made", 200), ("revoked", 401)):
            with contextlib.closing(self.node.web()) as web:
                assert web.ask("/api/v1/session", f"Bearer {self.words[name]}").status == status, name


def _written(client: SaslClient, user: str, password: str) -> ErrorCode:
    assert client.plain(user, password).error_code == ErrorCode.none
    code = client.produce("t", values("x")).error_code
    assert isinstance(code, ErrorCode)
    return code


@variants("last", [("tokens",), ("users",), ("rules",)], quick=[("tokens",)])
def test_changes_survive_a_kill(tmp_path: Path, last: str) -> None:
    node = SecuredNode(tmp_path / "node")
    node.prepare()
    node.start()
    world = World(node)
    try:
        world.prepare()
        kinds = ["users", "rules", "tokens"]
        for kind in (*(each for each in kinds if each != last), last):
            getattr(world, f"change_{kind}")()
        node.kill9()
        node.start()
        world.check()
    finally:
        node.kill9()
