"""CreateAcls, DescribeAcls and DeleteAcls on a broker without an authorizer; tests/facts has them with one."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import versions
from tests.support.acl_client import ANY, CLUSTER, MATCH, creation, matching, rule


@versions("create_acls")
def create_acls(peer: Peer, version: int) -> None:
    def ask(label: str, *rules: Any) -> None:
        peer.ask("create_acls", version, {"creations": [creation(each) for each in rules]}, label=label)

    ask("none")
    ask("one", rule())
    ask("two", rule(), rule(principal="User:b"))
    ask("wrong ones", rule(name=""), rule(CLUSTER, "mine"), rule(principal="alice"), rule(ANY))


@versions("describe_acls")
def describe_acls(peer: Peer, version: int) -> None:
    peer.ask("describe_acls", version, matching(), label="all")
    peer.ask("describe_acls", version, matching(name="t", pattern=MATCH), label="those of a topic")
    peer.ask("describe_acls", version, matching(99), label="of no type")


@versions("delete_acls")
def delete_acls(peer: Peer, version: int) -> None:
    peer.ask("delete_acls", version, {"filters": []}, label="none")
    peer.ask("delete_acls", version, {"filters": [matching(), matching(99)]}, label="all, and of no type")
