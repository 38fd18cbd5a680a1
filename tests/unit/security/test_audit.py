"""The audit log: JSON lines at any format and level, bounded in rate, with a count of those left out."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.observability.logs import configure_logs, logger_name
from penstock.security.audit import Audit
from penstock.security.principal import Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

ALICE = Session("SASL_SSL", "10.0.0.7", 4711, Principal("User", "alice"), "app", True)
BOB = ALICE.with_principal(Principal("User", "bob"))
WRITE, TOPIC = Operation.WRITE, ResourceType.TOPIC


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root, audit = logging.getLogger(), logging.getLogger("penstock.audit")
    before = root.handlers[:], root.level, audit.handlers[:], audit.level, audit.propagate
    stream = io.StringIO()
    configure_logs("ERROR", {}, stream=stream)
    yield stream
    root.handlers[:], audit.handlers[:] = before[0], before[2]
    root.setLevel(before[1])
    audit.setLevel(before[3])
    audit.propagate = before[4]


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_lines_are_json_in_a_text_log_of_errors_only(stream: io.StringIO) -> None:
    Audit().denied(ALICE, WRITE, TOPIC, "or\x1bders\n")
    assert "\x1b" not in stream.getvalue()
    (line,) = lines(stream)
    del line["time"]
    assert line == {
        "level": "INFO",
        "module": "penstock.audit",
        "message": "denied",
        "principal": "User:alice",
        "host": "10.0.0.7",
        "listener": "SASL_SSL",
        "client_id": "app",
        "operation": "WRITE",
        "resource_type": "TOPIC",
        "resource": "or\x1bders\n",
    }


def test_what_was_allowed_is_logged_at_debug_only(stream: io.StringIO) -> None:
    audit = Audit()
    logs_allowed = [audit.logs_allowed]
    audit.allowed(ALICE, WRITE, TOPIC, "orders")
    configure_logs("ERROR", {"audit": "DEBUG"}, stream=stream)
    logs_allowed.append(audit.logs_allowed)
    audit.allowed(ALICE, WRITE, TOPIC, "customers")
    assert logs_allowed == [False, True]
    assert [(line["message"], line["resource"]) for line in lines(stream)] == [("allowed", "customers")]


def test_logins_and_changes_say_who_and_what(stream: io.StringIO) -> None:
    audit = Audit()
    audit.logged_in(ALICE, "SCRAM-SHA-256")
    audit.login_failed(ALICE, "PLAIN", "mallory", "wrong user or password")
    audit.changed(ALICE, "create acl", "User:bob ALLOW READ")
    kept = ("message", "level", "mechanism", "user", "act", "what")
    assert [[line.get(name) for name in kept] for line in lines(stream)] == [
        ["login", "INFO", "SCRAM-SHA-256", None, None, None],
        ["login failed", "WARNING", "PLAIN", "mallory", None, None],
        ["changed", "INFO", None, None, "create acl", "User:bob ALLOW READ"],
    ]


def test_one_client_in_a_loop_is_bounded_and_hides_no_other(stream: io.StringIO) -> None:
    clock = Clock()
    audit = Audit(clock)
    for _ in range(10_000):
        audit.denied(ALICE, WRITE, TOPIC, "orders")
    audit.denied(BOB, WRITE, TOPIC, "orders")
    audit.changed(ALICE, "create acl", "…")
    written = lines(stream)
    assert [line["principal"] for line in written] == ["User:alice"] * 50 + ["User:bob", "User:alice"]
    assert written[50]["left_out"] == 9_950
    assert "left_out" not in written[51]
    assert audit.counts["denied"] == 10_001
    clock.now += 1
    for _ in range(100):
        audit.denied(ALICE, WRITE, TOPIC, "orders")
    assert len(lines(stream)) == len(written) + 10


def test_no_change_is_left_out(stream: io.StringIO) -> None:
    """A rule that matters cannot be hidden among others."""
    audit = Audit(Clock())
    for number in range(300):
        audit.changed(ALICE, "create acl", f"rule {number}")
    assert [line["what"] for line in lines(stream)] == [f"rule {number}" for number in range(300)]


def test_changes_of_a_file_have_its_path(stream: io.StringIO) -> None:
    Audit(Clock()).changed_by_file("/etc/policy.json", [("create acl", f"rule {number}") for number in range(300)])
    written = lines(stream)
    assert [line["what"] for line in written] == [f"rule {number}" for number in range(200)] + ["300 changes in all"]
    assert {(line["listener"], line["host"]) for line in written} == {("file", "/etc/policy.json")}


def test_what_clients_choose_is_cut(stream: io.StringIO) -> None:
    """Otherwise lines of a client id of 32,000 control characters would fill the disk, few as they are."""
    audit, long = Audit(Clock()), "\x01" * 32_000
    session = ALICE.with_client_id(long)
    audit.denied(session, WRITE, TOPIC, long)
    audit.login_failed(session, "PLAIN", long, "wrong password")
    for line in lines(stream):
        assert len(json.dumps(line)) < 5_000
        assert line["client_id"] == "\x01" * 200 + "… (32000 characters)"


def test_many_clients_are_bounded_together(stream: io.StringIO) -> None:
    audit = Audit(Clock())
    for number in range(5_000):
        audit.denied(ALICE.with_principal(Principal("User", str(number))), WRITE, TOPIC, "orders")
    assert len(lines(stream)) == 500


def test_failed_logins_from_one_address_hide_no_others(stream: io.StringIO) -> None:
    """Before the login all are User:ANONYMOUS. Names that are made up use up the share of their address alone."""
    audit = Audit(Clock())
    mallory, alice = Session("SASL_SSL", "10.0.0.66", 1), Session("SASL_SSL", "10.0.0.7", 1)
    for _ in range(5_000):
        audit.login_failed(mallory, "PLAIN", "admin", "wrong credentials")
    audit.login_failed(mallory, "PLAIN", "carol", "wrong credentials")
    for number in range(5_000):
        audit.login_failed(mallory, "PLAIN", f"made up {number}", "wrong credentials")
    audit.login_failed(alice, "PLAIN", "admin", "wrong credentials")
    audit.login_failed(alice, "PLAIN", "alice", "wrong credentials")
    written = [(line["host"], line["user"]) for line in lines(stream)]
    assert written[:51] == [("10.0.0.66", "admin")] * 50 + [("10.0.0.66", "carol")]
    assert written[-2:] == [("10.0.0.7", "admin"), ("10.0.0.7", "alice")]
    assert len(written) == 125 + 2
    assert audit.counts["login failed"] == 10_003


def test_failed_logins_from_a_network_of_ipv6_are_those_of_one_address(stream: io.StringIO) -> None:
    audit = Audit(Clock())
    for number in range(5_000):
        audit.login_failed(Session("SASL_SSL", f"2001:db8::{number:x}", 1), "PLAIN", f"user {number}", "wrong")
    audit.login_failed(Session("SASL_SSL", "2001:db8:0:1::1", 1), "PLAIN", "alice", "wrong")
    written = lines(stream)
    assert len(written) == 125 + 1
    assert (written[-1]["user"], written[-1]["left_out"]) == ("alice", 5_000 - 125)


def test_the_audit_log_has_a_level_of_its_own() -> None:
    assert logger_name("audit") == logger_name("penstock.audit") == "penstock.audit"
