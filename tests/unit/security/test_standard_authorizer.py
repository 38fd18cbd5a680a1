"""The authorizer's own parts: addresses, the limit of what it remembers, changes that overlap with the policy file."""

from __future__ import annotations

import pytest

from penstock.security.acl import standard
from penstock.security.acl.policy import Policy
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.principal import Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

READ, TOPIC = Operation.READ, ResourceType.TOPIC
RULE = AclRule(TOPIC, "t", PatternType.LITERAL, "User:a", "*", READ, Permission.ALLOW)


def session(host: str = "10.0.0.1", name: str = "a") -> Session:
    return Session("PLAINTEXT", host, 1, Principal("User", name), None, True)


@pytest.mark.parametrize(
    ("rule_host", "client"),
    [
        ("10.0.0.1", "::ffff:10.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"),  # as Java writes it
        ("FE80::1", "fe80::1"),
        ("fe80::1", "fe80::1%eth0"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("shop.example", "shop.example"),
    ],
)
def test_an_address_is_the_same_however_it_is_written(rule_host: str, client: str) -> None:
    authorizer = StandardAuthorizer()
    authorizer.add([RULE._replace(host=rule_host)])
    assert authorizer.allows(session(client), READ, TOPIC, "t")
    assert not authorizer.allows(session("10.0.0.2"), READ, TOPIC, "t")


def test_a_link_in_a_rule_is_that_of_the_client() -> None:
    authorizer = StandardAuthorizer()
    authorizer.add([RULE._replace(host="fe80::1%eth0")])
    assert not authorizer.allows(session("fe80::1%eth1"), READ, TOPIC, "t")
    authorizer.add([RULE, RULE._replace(host="fe80::1", permission=Permission.DENY)])
    assert not authorizer.allows(session("fe80::1%eth0"), READ, TOPIC, "t")


def test_a_rule_of_both_places_ends_when_it_is_in_neither() -> None:
    authorizer = StandardAuthorizer()
    authorizer.add([RULE])
    authorizer.set_policy(Policy(frozenset(), frozenset({RULE})))
    assert (len(authorizer), authorizer.stored_count) == (1, 1)
    authorizer.remove([RULE])
    assert authorizer.allows(session(), READ, TOPIC, "t")
    assert not authorizer.is_stored(RULE)
    authorizer.set_policy(Policy())
    assert not authorizer.allows(session(), READ, TOPIC, "t")


def test_super_users_of_the_policy_file_come_and_go() -> None:
    authorizer = StandardAuthorizer(["User:root"])
    authorizer.set_policy(Policy(frozenset({"User:a"})))
    assert authorizer.allows(session(), READ, TOPIC, "t")
    authorizer.set_policy(Policy())
    assert not authorizer.allows(session(), READ, TOPIC, "t")
    assert authorizer.allows(session(name="root"), READ, TOPIC, "t")


def test_the_number_of_remembered_decisions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard, "DECISIONS_MAX", 100)
    authorizer = StandardAuthorizer()
    authorizer.add([RULE])
    for number in range(1_000):
        assert not authorizer.allows(session(name=str(number)), READ, TOPIC, "t")
        assert not authorizer.allows_any(session(name=str(number)), READ, TOPIC)
        assert authorizer.allows(session(), READ, TOPIC, "t")
    assert len(authorizer._decisions) <= 100
    assert len(authorizer._decisions_of_any) <= 100


def test_decisions_about_long_names_are_not_remembered() -> None:
    """They may have 32 KB, and a client may ask about any number of them. They are decided as others are."""
    authorizer = StandardAuthorizer()
    authorizer.add([RULE._replace(name="t" * 249), RULE._replace(name="u", pattern=PatternType.PREFIXED)])
    for _ in range(2):
        assert authorizer.allows(session(), READ, TOPIC, "t" * 249)
        assert not authorizer.allows(session(), READ, TOPIC, "t" * 250)
        assert authorizer.allows(session(), READ, TOPIC, "u" * 32_000)
    assert len(authorizer._decisions) == 1
