"""SCRAM credentials of users, and the requests of a login on a listener without SASL."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import versions

SHA_256, SHA_512, UNKNOWN = 1, 2, 7


def deletion(name: str, mechanism: int = SHA_256) -> dict[str, Any]:
    return {"name": name, "mechanism": mechanism}


def upsertion(
    name: str, mechanism: int = SHA_256, *, iterations: int = 4096, salted_password: bytes = b"p" * 32
) -> dict[str, Any]:
    return {
        "name": name,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": b"0123456789abcdef",
        "salted_password": salted_password,
    }


@versions("alter_user_scram_credentials", alone=True)
def alter_user_scram_credentials(peer: Peer, version: int) -> None:
    alice, bob = peer.name("alice"), peer.name("bob")

    def ask(label: str, *alterations: dict[str, Any]) -> None:
        body = {
            "deletions": [each for each in alterations if "salt" not in each],
            "upsertions": [each for each in alterations if "salt" in each],
        }
        peer.ask("alter_user_scram_credentials", version, body, label=label)

    ask("none")
    ask("a user", upsertion(alice))
    ask("again", upsertion(alice, iterations=8192))
    ask("the other mechanism", upsertion(alice, SHA_512, salted_password=b"p" * 64))
    ask("both mechanisms at once", upsertion(bob), upsertion(bob, SHA_512))
    ask("the same twice", upsertion(bob), upsertion(bob))
    ask("three times", upsertion(bob), upsertion(bob), upsertion(bob))
    ask("deleted and set", deletion(alice), upsertion(alice))
    ask("deleted twice", deletion(alice), deletion(alice))
    ask("both mechanisms deleted at once", deletion(alice), deletion(alice, SHA_512))
    ask("one iteration", upsertion(bob, iterations=1))
    ask("too few iterations", upsertion(bob, iterations=4095))
    ask("as many as there may be", upsertion(bob, iterations=16384))
    ask("too many iterations", upsertion(bob, iterations=16385))
    ask("a billion iterations", upsertion(bob, iterations=1_000_000_000))
    ask("no iterations", upsertion(bob, iterations=-1))
    ask("an unknown mechanism", upsertion(bob, UNKNOWN), deletion(alice, UNKNOWN))
    ask("mechanism 0", upsertion(bob, 0))
    ask("no name", upsertion(""))
    ask("no name and an unknown mechanism", upsertion("", UNKNOWN))
    ask("no name to delete", deletion(""))
    ask("a user that does not exist", deletion(peer.name("nobody")))
    ask("a mechanism that the user does not have", deletion(bob, SHA_512))
    ask("right and wrong", upsertion(bob), upsertion(alice, iterations=1))
    ask("delete one, set another", deletion(alice), upsertion(bob, SHA_512))
    ask("bob", deletion(bob))
    ask("bob's other", deletion(bob, SHA_512))
    ask("alice's other", deletion(alice, SHA_512))


@versions("describe_user_scram_credentials", alone=True)
def describe_user_scram_credentials(peer: Peer, version: int) -> None:
    alice, bob = peer.name("alice"), peer.name("bob")
    for kept in (upsertion(alice, SHA_512), upsertion(alice, iterations=5000), upsertion(bob)):
        answer = peer.quietly("alter_user_scram_credentials", 0, {"deletions": [], "upsertions": [kept]})
        assert not any(row["error_code"] for row in answer["results"])

    def ask(label: str, *names: str) -> dict[str, Any]:
        body = {"users": [{"name": name} for name in names]}
        return peer.ask("describe_user_scram_credentials", version, body, label=label)

    peer.until(lambda: ask("all"), lambda answer: len(answer["results"]) == 2)
    peer.ask("describe_user_scram_credentials", version, {"users": None}, label="null is all")
    ask("one", alice)
    ask("two", bob, alice)
    ask("one twice", bob, bob)
    ask("one twice and another", bob, alice, bob)
    ask("nobody", peer.name("nobody"))
    ask("somebody and nobody", bob, peer.name("nobody"))
    ask("no name", "")
    for gone in (deletion(alice), deletion(alice, SHA_512), deletion(bob)):
        peer.quietly("alter_user_scram_credentials", 0, {"deletions": [gone], "upsertions": []})
    peer.until(lambda: ask("nobody is left"), lambda answer: not answer["results"])


@versions("sasl_handshake")
def sasl_handshake(peer: Peer, version: int) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "GSSAPI", ""):
        peer.ask("sasl_handshake", version, {"mechanism": mechanism}, label=mechanism or "no mechanism")
    peer.ask("metadata", 12, {"topics": [], "allow_auto_topic_creation": False}, label="the connection goes on")


@versions("sasl_authenticate")
def sasl_authenticate(peer: Peer, version: int) -> None:
    for label, token in (("PLAIN", b"\0alice\0secret"), ("nothing", b"")):
        peer.ask("sasl_authenticate", version, {"auth_bytes": token}, label=label)
    peer.ask("metadata", 12, {"topics": [], "allow_auto_topic_creation": False}, label="the connection goes on")
