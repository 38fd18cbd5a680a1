"""OffsetCommit, OffsetFetch and OffsetDelete."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.requests.groups import joined
from tests.differential.requests.topics import NO_SUCH_ID
from tests.differential.script import script, versions


def place(offset: int, *, partition: int = 0, metadata: str | None = "", epoch: int = -1) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": epoch,
        "committed_metadata": metadata,
    }


@versions("offset_commit")
def offset_commit(peer: Peer, version: int) -> None:
    topic, group = peer.topic("topic", partitions=2), peer.name("group")
    ids = {topic: peer.topic_id(topic)}

    def at(name: str, *places: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "topic_id": ids.get(name, NO_SUCH_ID), "partitions": list(places)}

    def ask(label: str, *topics: dict[str, Any], **changes: Any) -> None:
        body = {"group_id": group, "retention_time": -1, "topics": list(topics), **changes}
        peer.ask("offset_commit", version, body, label=label)

    ask("no topics")
    ask("no partitions", at(topic))
    ask("one", at(topic, place(5)))
    ask("less", at(topic, place(3, epoch=0)))
    ask("with a text", at(topic, place(5, metadata="where I am")))
    ask("with null for the text", at(topic, place(5, metadata=None)))
    ask("a text that is too long", at(topic, place(5, metadata="x" * 4_097)))
    ask("a text as long as may be", at(topic, place(5, metadata="x" * 4_096)))
    ask("two partitions", at(topic, place(5, partition=1), place(6)))
    ask("a partition twice", at(topic, place(5), place(9)))
    ask("offset -1", at(topic, place(-1)))
    ask("a huge offset", at(topic, place((1 << 63) - 1)))
    ask("unknown topic", at(peer.name("unknown"), place(5)))
    ask("unknown partition", at(topic, place(5, partition=9)))
    ask("partition -1", at(topic, place(5, partition=-1)))
    ask("known and unknown", at(peer.name("unknown"), place(5)), at(topic, place(5)))
    ask("a bad name", at("a/b", place(5)))
    stranger = {"group_id": peer.name("no-group"), "generation_id_or_member_epoch": 1, "member_id": "nobody"}
    ask("a generation of an unknown group", at(topic, place(5)), **stranger)
    _members(peer, ask, at(topic, place(7)))


@script("offset-commit-empty-group", alone=True)
def offset_commit_empty_group(peer: Peer) -> None:
    """The group without a name is one that all scripts share: it must go again."""
    topic = peer.topic()
    for version in (2, 8):
        body = {"group_id": "", "retention_time": -1, "topics": [{"name": topic, "partitions": [place(5)]}]}
        peer.ask("offset_commit", version, body, label="the empty group")
    peer.ask("list_groups", 5, {}, label="the empty group is one")
    peer.ask("describe_groups", 5, {"groups": [""]}, label="the empty group")
    peer.ask("delete_groups", 2, {"groups_names": [""]}, label="the empty group")
    peer.ask("list_groups", 5, {}, label="the empty group is gone")


def _members(peer: Peer, ask: Any, topic: dict[str, Any]) -> None:
    group = peer.name("members")
    member = joined(peer, group)
    mine = {"group_id": group, "member_id": member["member_id"], "generation_id_or_member_epoch": 1}
    ask("a member", topic, **mine)
    ask("an unknown member", topic, **{**mine, "member_id": "nobody"})
    ask("a wrong generation", topic, **{**mine, "generation_id_or_member_epoch": 9})
    ask("generation -1 of a group with members", topic, group_id=group)
    ask("a member without a generation", topic, **{**mine, "generation_id_or_member_epoch": -1})
    ask("an instance of nobody", topic, **mine, group_instance_id="nobody")
    ask("a member without a topic", **mine)


@versions("offset_fetch")
def offset_fetch(peer: Peer, version: int) -> None:
    topic, other, group = peer.topic("topic", partitions=2), peer.topic("other"), peer.name("group")
    ids = {topic: peer.topic_id(topic), other: peer.topic_id(other)}
    rows = [
        {"name": topic, "partitions": [place(5, metadata="text", epoch=0), place(6, partition=1, metadata=None)]},
        {"name": other, "partitions": [place(7)]},
    ]
    peer.quietly("offset_commit", 8, {"group_id": group, "topics": rows})

    def ask(label: str, *wanted: tuple[str, list[tuple[str, list[int]]] | None], **changes: Any) -> None:
        groups = [
            {
                "group_id": name,
                "topics": None
                if topics is None
                else [
                    {"name": each, "topic_id": ids.get(each, NO_SUCH_ID), "partition_indexes": partitions}
                    for each, partitions in topics
                ],
                **changes,
            }
            for name, topics in wanted
        ]
        body = {**(groups[0] if groups else {}), "groups": groups, "require_stable": False, **changes}
        peer.ask("offset_fetch", version, body, label=label)

    ask("one", (group, [(topic, [0])]))
    ask("both", (group, [(topic, [1, 0])]))
    ask("no topics", (group, []))
    ask("no partitions", (group, [(topic, [])]))
    ask("two topics", (group, [(topic, [0]), (other, [0])]))
    ask("not committed", (group, [(topic, [7])]))
    ask("partition -1", (group, [(topic, [-1])]))
    ask("a partition twice", (group, [(topic, [0, 0])]))
    ask("unknown topic", (group, [(peer.name("unknown"), [0])]))
    ask("unknown group", (peer.name("unknown"), [(topic, [0])]))
    ask("the empty group", ("", [(topic, [0])]))
    ask("a bad name", (group, [("a/b", [0])]))
    if version >= 2:
        ask("all", (group, None))
        ask("all of an unknown group", (peer.name("unknown"), None))
        ask("all of the empty group", ("", None))
    if version >= 7:
        ask("only stable ones", (group, [(topic, [0])]), require_stable=True)
    if version >= 8:
        ask("no groups")
        ask("two groups", (group, None), (peer.name("unknown"), [(topic, [0])]))
        ask("a group twice", (group, [(topic, [0])]), (group, [(topic, [1])]))
    if version >= 9:
        ask("a member of a group that has none", (group, [(topic, [0])]), member_id="nobody", member_epoch=1)
        ask("a member epoch without a member", (group, [(topic, [0])]), member_id=None, member_epoch=5)


@versions("offset_delete")
def offset_delete(peer: Peer, version: int) -> None:
    topic, other, group = peer.topic("topic", partitions=2), peer.topic("other"), peer.name("group")
    rows = [{"name": topic, "partitions": [place(5), place(6, partition=1)]}, {"name": other, "partitions": [place(7)]}]

    def ask(label: str, group: str, *topics: tuple[str, list[int]]) -> None:
        wanted = [{"name": name, "partitions": [{"partition_index": each} for each in rows]} for name, rows in topics]
        peer.ask("offset_delete", version, {"group_id": group, "topics": wanted}, label=label)

    peer.quietly("offset_commit", 8, {"group_id": group, "topics": rows})
    ask("unknown group", peer.name("unknown"), (topic, [0]))
    ask("the empty group", "", (topic, [0]))
    ask("no topics", group)
    ask("no partitions", group, (topic, []))
    ask("one", group, (topic, [0]))
    ask("again", group, (topic, [0]))
    ask("unknown topic", group, (peer.name("unknown"), [0]))
    ask("unknown partition", group, (topic, [9]))
    ask("partition -1", group, (topic, [-1]))
    ask("a partition twice", group, (topic, [1, 1]))
    ask("a bad name", group, ("a/b", [0]))
    ask("the last one", group, (other, [0]))
    ask("of a group that has none left", group, (other, [0]))
    members = peer.name("members")
    joined(peer, members)
    peer.quietly("offset_commit", 8, {"group_id": members, "topics": rows})
    ask("of a group with members", members, (topic, [0]))
