"""Which decisions of the gate are in the audit log."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from penstock.model.errors import KafkaError
from penstock.security.access import Access
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.principal import Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

READ, WRITE = Operation.READ, Operation.WRITE
ALICE = Session("PLAINTEXT", "10.0.0.1", 1, Principal("User", "alice"), None, True)
RULE = AclRule(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:alice", "*", READ, Permission.ALLOW)


def access() -> Access:
    authorizer = StandardAuthorizer()
    authorizer.add([RULE])
    return Access(authorizer=authorizer)


@pytest.fixture
def audit(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    logger = logging.getLogger("penstock.audit")
    monkeypatch.setattr(logger, "propagate", True)
    caplog.set_level(logging.INFO, "penstock.audit")
    return caplog


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.getMessage(), record.__dict__["resource"]) for record in caplog.records]


def test_refusals_are_logged_and_what_lists_leave_out_is_not(audit: pytest.LogCaptureFixture) -> None:
    gate = access()
    asked: list[tuple[Callable[[], object], str]] = [
        (lambda: gate.check_topic(ALICE, READ, "u"), "u"),
        (lambda: gate.check_group(ALICE, READ, "g"), "g"),
        (lambda: gate.check_transactional_id(ALICE, WRITE, "x"), "x"),
        (lambda: gate.check_cluster(ALICE, Operation.ALTER), "kafka-cluster"),
        (lambda: gate.check_cluster_or_topic(ALICE, Operation.CREATE, "new"), "new"),
    ]
    for check, _ in asked:
        with pytest.raises(KafkaError):
            check()
    assert not gate.allows_topic(ALICE, WRITE, "t")
    assert not gate.allows_group(ALICE, WRITE, "h")
    assert not gate.allows_transactional_id(ALICE, WRITE, "y")
    shown = [
        gate.shows_topic(ALICE, READ, "u"),
        gate.shows_group(ALICE, READ, "g"),
        gate.shows_transactional_id(ALICE, WRITE, "x"),
        gate.shows_cluster(ALICE, Operation.DESCRIBE),
    ]
    assert shown == [False] * 4
    assert lines(audit) == [("denied", name) for name in [*(name for _, name in asked), "t", "h", "y"]]


def test_what_is_allowed_is_logged_at_debug(audit: pytest.LogCaptureFixture) -> None:
    gate = access()
    gate.check_topic(ALICE, READ, "t")
    assert lines(audit) == []
    audit.set_level(logging.DEBUG, "penstock.audit")
    gate = access()
    gate.check_topic(ALICE, READ, "t")
    assert gate.shows_topic(ALICE, READ, "t")
    assert lines(audit) == [("allowed", "t")]
