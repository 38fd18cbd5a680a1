"""What `make bench-security` measures runs, and gives figures that can be true; what is missed is said to be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.security.brokers import SecuredPenstock
from bench.security.crowd import Crowd
from bench.security.in_turn import write_policy
from bench.security.report import unfit
from bench.security.targets import missed, rows
from bench.security.works import WORKS, Span, crowd
from bench.targets import Medians
from penstock.security.acl.policy import parse_policy

MAIN_FIGURE = {
    "tls_produce_batches": "messages_per_s",
    "tls_produce_single": "requests_per_s",
    "tls_fetch": "bytes_per_s",
    "acknowledge": "tls_p99_ms",
}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredPenstock]:
    broker = SecuredPenstock(tmp_path_factory.mktemp("secured"))
    broker.start()
    yield broker
    broker.stop()


@pytest.mark.parametrize("name", ["tls_produce_single", *(pytest.param(name, marks=pytest.mark.full) for name in
                                  ("tls_produce_batches", "tls_fetch", "acknowledge"))])  # fmt: skip
def test_work_gives_figures(name: str, secured: SecuredPenstock) -> None:
    figures = WORKS[name](secured, Span(0.3, 0.05))
    assert figures[MAIN_FIGURE[name]] > 0


def test_a_crowd_logs_in_and_is_served(secured: SecuredPenstock) -> None:
    members = Crowd(secured.sasl_address, secured.context)
    try:
        members.open(20)
        members.ask_all()
        assert all(member.is_up for member in members.members.values())
    finally:
        members.close()


def test_a_wrong_password_is_no_crowd(secured: SecuredPenstock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logins are real ones: the broker refuses them with another password."""
    monkeypatch.setattr("bench.security.crowd.PASSWORD", "another")
    members = Crowd(secured.sasl_address, secured.context)
    try:
        with pytest.raises(RuntimeError, match="error 58"):
            members.open(1)
    finally:
        members.close()


@pytest.mark.full
def test_a_crowd_is_weighed(tmp_path: Path) -> None:
    figures = crowd(SecuredPenstock, tmp_path, 200)
    assert 0 < figures["up_s"] < 600
    assert figures["rss_mb"] > figures["plain_rss_mb"]
    assert figures["broker_cpu_ms_each"] > 0


def test_the_policy_has_ten_thousand_rules(tmp_path: Path) -> None:
    path = write_policy(tmp_path / "policy.json")
    assert len(parse_policy(path.read_bytes()).rules) == len(json.loads(path.read_text())["acls"]) == 10_000


def test_verdicts() -> None:
    """Against Kafka, against another broker of ours, as a difference, and by themselves."""
    figures: dict[str, Medians] = {
        "penstock": {
            "tls_produce_batches": {"messages_per_s": 1.4e6},
            "tls_fetch": {"bytes_per_s": 0.8e9},
            "acl_fetch_small": {"our_cpu_us": 50.0, "their_cpu_us": 49.0},
            "acknowledge": {"tls_p99_ms": 1.1, "plain_p99_ms": 1.0, "tls_p50_ms": 0.3, "plain_p50_ms": 0.2},
            "start": {"on_s": 0.8, "off_s": 0.6, "rules_s": 0.9},
            "crowd": {"up_s": 20.0, "rss_mb": 350.0, "plain_rss_mb": 100.0},
        },
        "kafka": {"tls_produce_batches": {"messages_per_s": 1.0e6}, "tls_fetch": {"bytes_per_s": 0.9e9}},
    }
    verdicts = {row[0]: row[-1] for row in rows(figures)}
    assert verdicts == {
        "10,000 rules, against none: fetch, one message a request": "reached",
        "TLS produce, batches": "missed",
        "TLS fetch, one connection": "reached",
        "the same, against Kafka": "missed",
        "TLS ack p99, against plain text": "aim reached",
        "the same, p50": "",
        "10,000 connections with TLS and SCRAM: up in": "aim reached",
        "the same: RSS, against plain text": "aim reached",
        "the same: loop lag p99.9 meanwhile": "missed",
        "start to first answer, all doors closed": "missed",
        "the same with 10,000 rules": "",
    }
    assert len(missed(figures)) == 4
    del figures["kafka"]
    assert {row[0]: row[-1] for row in rows(figures)}["TLS produce, batches"] == "not judged"


def test_results_that_leave_something_out_are_not_quoted() -> None:
    works = {name: {"up_s": 1.0} for name in (*WORKS, "crowd", "start")}
    fit = {"options": {"rounds": 3, "before": "tree"}, "security": {"penstock": works, "kafka": works}}
    assert unfit(fit) is None
    assert "rounds" in str(unfit({**fit, "options": {"rounds": 1, "before": "tree"}}))
    assert "BEFORE" in str(unfit({**fit, "options": {"rounds": 3, "before": None}}))
    assert "Kafka" in str(unfit({**fit, "security": {"penstock": works}}))
    without = {name: one for name, one in works.items() if name != "crowd"}
    assert unfit({**fit, "security": {"penstock": without, "kafka": works}}) == "it leaves out crowd"
