"""An authorizer of another package: it decides at every door, its changes count at once, its failures deny."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from penstock.protocol.push import messages as m
from tests.conformance.security_node import USERS, SecurityNode, running
from tests.conformance.test_choosing import start_error
from tests.support.acl_client import matching
from tests.support.batches import values
from tests.support.push_client import PushClient, PushRefused
from tests.support.push_login import PLAIN, step
from tests.support.raw_client import unique_name
from tests.support.sasl_client import SaslClient
from tests.support.waiting import wait_until
from tests.web_login.secured import basic

pytestmark = pytest.mark.feature("F-05", "P-01")

DENIED = ErrorCode.topic_authorization_failed
ALICE = basic("alice", USERS["alice"])
SetState = Callable[[str], None]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecurityNode]:
    directory = tmp_path_factory.mktemp("prefix")
    (directory / "state").write_text("open")
    options = {"file": str(directory / "state")}
    acl = {"enabled": True, "authorizer": "prefix", "authorizer_options": options, "super_users": "User:root"}
    with running(SecurityNode(directory, {**USERS, "root": "root-secret"}, acl=acl)) as started:
        yield started


@pytest.fixture
def set_state(node: SecurityNode) -> Iterator[SetState]:
    def write(state: str) -> None:
        replacement = node.directory / "state.new"
        replacement.write_text(state)
        replacement.rename(node.directory / "state")

    yield write
    write("open")
    with alice(node) as client:
        topic = f"alice-{unique_name()}"
        wait_until(lambda: client.create_topics_answer(topic).error_code != DENIED, what="the rules are open again")


@contextlib.contextmanager
def alice(node: SecurityNode, user: str = "alice", password: str | None = None) -> Iterator[SaslClient]:
    with node.kafka() as client:
        assert client.plain(user, password or USERS[user]).error_code == ErrorCode.none
        yield client


def subscribed(node: SecurityNode, topic: str) -> PushClient:
    client = node.push()
    step(client, PLAIN, f"\0alice\0{USERS['alice']}".encode())

    def joins() -> bool:
        with contextlib.suppress(PushRefused):  # the coordinator of the group may not be there yet
            client.ask(m.Subscribe("", topic, topic))
            return True
        return False

    wait_until(joins, what="the member is in its subscription")
    return client


def test_it_decides_at_every_door(node: SecurityNode) -> None:
    own, other = f"alice-{unique_name()}", f"bob-{unique_name()}"
    with alice(node) as kafka, node.push() as push, contextlib.closing(node.web()) as web:
        assert kafka.create_topic(own) == own
        assert kafka.create_topics_answer(other).error_code == DENIED
        assert kafka.produce(own, values("x")).error_code == ErrorCode.none
        step(push, PLAIN, f"\0alice\0{USERS['alice']}".encode())
        assert push.publish(own, b"y") == [1]
        with pytest.raises(PushRefused):
            push.ask(m.CreateTopic(other, 1))
        assert web.ask(f"/api/v1/topics/{own}", ALICE).status == 200
        assert web.ask("/api/v1/topics", ALICE, method="POST", body={"name": other}).status == 403
        assert other not in web.ask("/api/v1/topics", ALICE).body.decode()


def test_super_users_are_above_it(node: SecurityNode, set_state: SetState) -> None:
    set_state("broken")
    with alice(node, "root", "root-secret") as root:
        assert root.create_topic(unique_name())


@pytest.mark.parametrize("state", ["closed", "broken", "async"])
def test_what_it_takes_away_is_gone(node: SecurityNode, set_state: SetState, state: str) -> None:
    """For the repeat path of produce, and for a push member, which is told of the change by another thread."""
    topic = f"alice-{unique_name()}"
    with alice(node) as kafka, contextlib.closing(subscribed_to(node, kafka, topic)) as member:
        for _ in range(3):
            assert kafka.produce(topic, values("x")).error_code == ErrorCode.none
        set_state(state)
        wait_until(lambda: kafka.produce(topic, values("x")).error_code == DENIED, what="the right is gone")
        assert any(isinstance(frame, m.Error) and "taken away" in frame.message for frame in member.ends())
        assert kafka.create_topics_answer(f"alice-{unique_name()}").error_code == DENIED


def subscribed_to(node: SecurityNode, kafka: SaslClient, topic: str) -> PushClient:
    kafka.create_topic(topic)
    return subscribed(node, topic)


def test_its_failures_are_one_line_a_minute(node: SecurityNode, set_state: SetState) -> None:
    text, begun = "the authorizer prefix failed in allows, which denies: RuntimeError", time.monotonic()
    before = node.log_file.read_text().count(text)
    set_state("broken")
    with alice(node) as kafka:
        topic = f"alice-{unique_name()}"
        wait_until(lambda: kafka.create_topics_answer(topic).error_code == DENIED, what="it fails")
        for _ in range(5):
            assert kafka.create_topics_answer(topic).error_code == DENIED
    log = node.log_file.read_text()
    assert log.count(text) >= 1
    assert log.count(text) - before <= 1 + (time.monotonic() - begun) // 60
    assert "Traceback" not in log


def test_there_are_no_rules_to_see_or_change(node: SecurityNode) -> None:
    with alice(node, "root", "root-secret") as root:
        answer: Any = root.call("describe_acls", 3, **matching())
        assert answer.error_code == ErrorCode.security_disabled


def test_settings_that_do_not_fit(tmp_path: Path) -> None:
    def told(**acl: object) -> str:
        return start_error(tmp_path, acl=acl)

    assert "there is standard, prefix" in told(enabled=True, authorizer="opa")
    assert "acl.enabled" in told(authorizer="prefix")
    assert "acl.policy_file" in told(enabled=True, authorizer="prefix", policy_file="x")
    assert "acl.allow_everyone" in told(enabled=True, authorizer="prefix", allow_everyone_if_no_acl_found=True)
    assert "acl.authorizer is not" in told(authorizer_options={"a": "b"})
    assert "cannot start: KeyError" in told(enabled=True, authorizer="prefix")
