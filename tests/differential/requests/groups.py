"""The requests about classic groups one by one, at every version; what members do together is in the scenarios."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Answer, Peer
from tests.differential.script import versions
from tests.support.group_client import join_values, subscription

SUBSCRIBED = {"range": subscription("topic")}


def join(peer: Peer, version: int, group: str, *, label: str, quiet: bool = False, **changes: Any) -> Answer:
    body = {**join_values(group, protocols=SUBSCRIBED), **changes}
    if quiet:
        return peer.quietly("join_group", version, body)
    return peer.ask("join_group", version, body, label=label)


def joined(peer: Peer, group: str, *, instance: str | None = None) -> Answer:
    """A stable group of one member; its JoinGroup answer. Nothing is recorded."""
    first = join(peer, 5, group, label="", quiet=True, group_instance_id=instance)
    answer = first
    if first["error_code"] == 79:
        answer = join(peer, 5, group, label="", quiet=True, member_id=first["member_id"])
    assert answer["error_code"] == 0, answer
    share = [{"member_id": answer["member_id"], "assignment": b"all"}]
    body = _member(group, answer, group_instance_id=instance, assignments=share)
    assert peer.quietly("sync_group", 3, body)["error_code"] == 0
    return answer


def _member(group: str, joined_answer: Answer, **changes: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "generation_id": joined_answer["generation_id"],
        "member_id": joined_answer["member_id"],
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [],
        **changes,
    }


@versions("find_coordinator")
def find_coordinator(peer: Peer, version: int) -> None:
    group = peer.name("group")

    def ask(label: str, *keys: str, kind: int = 0) -> None:
        body = {"key": keys[0] if keys else "", "key_type": kind, "coordinator_keys": list(keys)}
        peer.ask("find_coordinator", version, body, label=label)

    ask("of a group", group)
    ask("of the empty group", "")
    ask("of a very long name", "x" * 10_000)
    ask("of a name with signs", "a/b c")
    if version >= 1:
        ask("a key of type 9", group, kind=9)
        ask("a key of type -1", group, kind=-1)
        ask("a key of share groups", group, kind=2)
    if version >= 4:
        ask("of no groups")
        ask("of two groups", group, peer.name("other"))
        ask("of one group twice", group, group)


@versions("join_group", seconds=3)
def join_group(peer: Peer, version: int) -> None:
    group = peer.name("group")
    first = join(peer, version, group, label="first")
    if first["error_code"] == 79:
        first = join(peer, version, group, label="with the id it was given", member_id=first["member_id"])
    body = _member(group, first, assignments=[{"member_id": first["member_id"], "assignment": b"all"}])
    peer.quietly("sync_group", 3, body)
    join(peer, version, group, label="again", member_id=first["member_id"])
    join(peer, version, group, label="an unknown member", member_id="nobody")
    join(peer, version, group, label="another type", protocol_type="connect")
    join(peer, version, group, label="other protocols", protocols=[{"name": "other", "metadata": b""}])
    new = peer.name("new")
    join(peer, version, new, label="an unknown member of a new group", member_id="nobody")
    join(peer, version, new, label="no protocols", protocols=[])
    join(peer, version, new, label="no type", protocol_type="")
    join(peer, version, "", label="the empty group")
    for timeout in (0, -1, 5_999, 1_800_001):
        join(peer, version, new, label=f"a session of {timeout} ms", session_timeout=timeout)
    join(peer, version, peer.name("other"), label="no rebalance timeout", rebalance_timeout=-1)
    join(peer, version, peer.name("third"), label="a long session", session_timeout=1_800_000)
    if version >= 5:
        _static_members(peer, version)


def _static_members(peer: Peer, version: int) -> None:
    group = peer.name("static")
    one = join(peer, version, group, label="a static member", group_instance_id="one")
    body = _member(group, one, group_instance_id="one", assignments=[])
    peer.quietly("sync_group", 5, body)
    join(peer, version, group, label="the static member again", group_instance_id="one", member_id=one["member_id"])
    join(peer, version, group, label="a wrong member of it", group_instance_id="one", member_id="nobody")
    join(peer, version, group, label="an unknown one with an id", group_instance_id="two", member_id="nobody")
    join(peer, version, peer.name("bad-1"), label="an empty instance", group_instance_id="")
    join(peer, version, peer.name("bad-2"), label="a bad instance", group_instance_id="a/b")
    join(peer, version, peer.name("bad-3"), label="an instance that is too long", group_instance_id="x" * 250)


@versions("sync_group", seconds=2)
def sync_group(peer: Peer, version: int) -> None:
    group = peer.name("group")
    first = join(peer, 5, group, label="", quiet=True)
    first = join(peer, 5, group, label="", quiet=True, member_id=first["member_id"])

    def ask(label: str, **changes: Any) -> None:
        peer.ask("sync_group", version, _member(group, first, **changes), label=label)

    ask("unknown group", group_id=peer.name("unknown"))
    ask("the empty group", group_id="")
    ask("unknown member", member_id="nobody")
    ask("no member", member_id="")
    ask("an old generation", generation_id=0)
    ask("a newer generation", generation_id=9)
    ask("generation -1", generation_id=-1)
    ask("shares for all", assignments=[{"member_id": first["member_id"], "assignment": b"all"}])
    ask("the same again")
    ask("another share, later", assignments=[{"member_id": first["member_id"], "assignment": b"none"}])
    if version >= 3:
        ask("an instance of nobody", group_instance_id="nobody")
    if version >= 5:
        ask("another type", protocol_type="connect")
        ask("another protocol", protocol_name="other")
        ask("no type and protocol", protocol_type=None, protocol_name=None)


@versions("heartbeat")
def heartbeat(peer: Peer, version: int) -> None:
    group = peer.name("group")
    member = joined(peer, group)

    def ask(label: str, **changes: Any) -> None:
        peer.ask("heartbeat", version, _member(group, member, **changes), label=label)

    ask("alive")
    ask("unknown group", group_id=peer.name("unknown"))
    ask("the empty group", group_id="")
    ask("unknown member", member_id="nobody")
    ask("no member", member_id="")
    ask("an old generation", generation_id=0)
    ask("a newer generation", generation_id=9)
    ask("generation -1", generation_id=-1)
    if version >= 3:
        ask("an instance of nobody", group_instance_id="nobody")
        static = peer.name("static")
        one = joined(peer, static, instance="one")
        peer.ask("heartbeat", version, _member(static, one, group_instance_id="one"), label="static")
        other = _member(static, one, group_instance_id="one", member_id="nobody")
        peer.ask("heartbeat", version, other, label="fenced")


@versions("leave_group")
def leave_group(peer: Peer, version: int) -> None:
    group = peer.name("group")
    member = joined(peer, group)

    def ask(label: str, *members: tuple[str, str | None], group: str = group) -> None:
        rows = [{"member_id": who, "group_instance_id": instance, "reason": "a test"} for who, instance in members]
        body = {"group_id": group, "member_id": members[0][0] if members else "", "members": rows}
        peer.ask("leave_group", version, body, label=label)

    ask("unknown group", ("nobody", None), group=peer.name("unknown"))
    ask("the empty group", ("nobody", None), group="")
    ask("unknown member", ("nobody", None))
    ask("no member", ("", None))
    if version >= 3:
        ask("no members")
        ask("an instance of nobody", ("", "nobody"))
        ask("an instance and an id of nobody", ("nobody", "nobody"))
        static = peer.name("static")
        one = joined(peer, static, instance="one")
        ask("a static member, wrong id", ("nobody", "one"), group=static)
        ask("two, one is unknown", ("nobody", None), (one["member_id"], "one"), group=static)
        joined(peer, static, instance="two")
        ask("a static member by its instance", ("", "two"), group=static)
    ask("leaves", (member["member_id"], None))
    ask("leaves again", (member["member_id"], None))


@versions("describe_groups")
def describe_groups(peer: Peer, version: int) -> None:
    group, static = peer.name("group"), peer.name("static")
    joined(peer, group)
    joined(peer, static, instance="one")

    def ask(label: str, *groups: str, operations: bool = False) -> None:
        body = {"groups": list(groups), "include_authorized_operations": operations}
        peer.ask("describe_groups", version, body, label=label)

    ask("none")
    ask("stable", group)
    ask("with a static member", static)
    ask("two", static, group)
    ask("one twice", group, group)
    ask("unknown", peer.name("unknown"))
    ask("known and unknown", peer.name("unknown"), group)
    ask("the empty name", "")
    ask("authorized operations", group, operations=True)


@versions("list_groups")
def list_groups(peer: Peer, version: int) -> None:
    joined(peer, peer.name("group"))
    commit = {"partition_index": 0, "committed_offset": 3}
    topics = [{"name": peer.topic(), "partitions": [commit]}]
    peer.quietly("offset_commit", 8, {"group_id": peer.name("empty"), "topics": topics})

    def ask(label: str, states: list[str], types: list[str]) -> None:
        peer.ask("list_groups", version, {"states_filter": states, "types_filter": types}, label=label)

    ask("all", [], [])
    if version >= 4:
        ask("stable ones", ["Stable"], [])
        ask("empty ones", ["Empty"], [])
        ask("stable ones in small letters", ["stable"], [])
        ask("two states", ["Stable", "Empty"], [])
        ask("an unknown state", ["Nowhere"], [])
        ask("an unknown and a known state", ["Nowhere", "Stable"], [])
    if version >= 5:
        ask("classic ones", [], ["classic"])
        ask("classic ones in capitals", [], ["CLASSIC"])
        ask("consumer ones", [], ["consumer"])
        ask("an unknown type", [], ["nothing"])
        ask("stable classic ones", ["Stable"], ["classic"])


@versions("delete_groups")
def delete_groups(peer: Peer, version: int) -> None:
    group, empty = peer.name("group"), peer.name("empty")
    joined(peer, group)
    topics = [{"name": peer.topic(), "partitions": [{"partition_index": 0, "committed_offset": 3}]}]

    def commit() -> None:
        peer.quietly("offset_commit", 8, {"group_id": empty, "topics": topics})

    def ask(label: str, *groups: str) -> None:
        peer.ask("delete_groups", version, {"groups_names": list(groups)}, label=label)

    commit()
    ask("none")
    ask("an empty one", empty)
    ask("again", empty)
    ask("one with a member", group)
    ask("unknown", peer.name("unknown"))
    ask("the empty name", "")
    commit()
    ask("one twice", empty, empty)
    commit()
    ask("one that can go and one that can not", empty, group)
