"""Committed offsets: what may be stored for whom, and what is found again, over the versions of both APIs."""

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.groups import Member, commit_body, describe, fetch_offsets_body, join_alone
from tests.differential.steps.topics import NO_ID, WRONG_ID, create

LONGEST_METADATA = 4096


def _commit(peer: Peer, version: int, group: str, *offsets: tuple[str, int, int], **partition: Any) -> None:
    peer.ask("offset_commit", version, commit_body(group, offsets, **partition))


def _fetch(peer: Peer, version: int, group: str, topics: dict[str, list[int]] | None) -> None:
    peer.ask("offset_fetch", version, fetch_offsets_body(group, topics))


@script("offset-simple-commits", seconds=2, alone=True, family="committed-offsets")
def simple_commits(peer: Peer) -> None:
    """Consumers that assign partitions by themselves: a group comes to be by its first commit."""
    topic = create(peer, "simple", partitions=3)
    missing = peer.name("missing")
    for version in range(2, 10):
        group = peer.name(f"simple-{version}")
        _commit(peer, version, group, (missing, 0, 1))
        describe(peer, group)
        _commit(peer, version, group, (topic, 0, 10), (topic, 1, 11), (topic, 9, 1), (topic, -1, 1), (missing, 0, 1))
        describe(peer, group)
        _commit(peer, version, group, (topic, 0, 5))
        _commit(peer, version, group, (topic, 1, -1), (topic, 2, -5))
        _commit(peer, version, group, (topic, 2, 1 << 40))
        _commit(peer, version, group)
        peer.ask("offset_commit", version, commit_body(group, [(topic, 0, 6)]) | {"member_id": "somebody"})
        peer.ask("offset_commit", version, commit_body(group, [(topic, 0, 7)]) | {"generation_id_or_member_epoch": 0})
        peer.ask("offset_commit", version, commit_body(group, [(topic, 0, 8)]) | {"generation_id_or_member_epoch": 5})
        peer.ask("offset_commit", version, commit_body(group, [(topic, 0, 9)]) | {"generation_id_or_member_epoch": -2})
        peer.ask("offset_commit", version, commit_body(group, [(topic, 0, 9)]) | {"group_instance_id": "x"})
        _fetch(peer, version, group, {topic: [0, 1, 2]})
    _commit(peer, 8, "", (topic, 0, 10))
    _commit(peer, 8, "", (missing, 0, 10))
    _fetch(peer, 7, "", {topic: [0]})
    _fetch(peer, 7, "", None)
    peer.quietly("delete_groups", 2, {"groups_names": [""]})  # all scripts share the group without a name


@script("offset-fetches", seconds=2, family="committed-offsets")
def fetches(peer: Peer) -> None:
    """OffsetFetch at every version: known and unknown groups, topics and partitions, none, and all of them."""
    topic, other = create(peer, "known", partitions=2), create(peer, "other")
    group, missing = peer.name("group"), peer.name("missing")
    _commit(peer, 8, group, (topic, 1, 7), (other, 0, 8), committed_metadata="about it", committed_leader_epoch=3)
    _commit(peer, 6, group, (topic, 0, 9), committed_metadata=None, committed_leader_epoch=0)
    for version in range(1, 10):
        _fetch(peer, version, group, {topic: [0, 1, 7, -1], missing: [0, 1]})
        _fetch(peer, version, missing, {topic: [0], missing: [1]})
        _fetch(peer, version, group, {topic: []})
        _fetch(peer, version, group, {})
        _fetch(peer, version, group, {topic: [1, 1]})
        if version >= 2:
            _fetch(peer, version, group, None)
            _fetch(peer, version, missing, None)
        if version >= 7:
            peer.ask("offset_fetch", version, fetch_offsets_body(group, None) | {"require_stable": True})


@script("offset-fetch-several-groups", seconds=2, family="committed-offsets")
def several_groups(peer: Peer) -> None:
    """From v8 on several groups in one request, each with its own topics and its own error."""
    topic = create(peer, "shared", partitions=2)
    first, second, missing = peer.name("first"), peer.name("second"), peer.name("missing")
    _commit(peer, 8, first, (topic, 0, 1))
    _commit(peer, 8, second, (topic, 1, 2))
    member = Member(peer, "member", peer.name("members"))
    join_alone(member)
    member.commit(topic, 3)
    topic_id = peer.topic_id(topic)
    for version in (8, 9, 10):
        by_id = version >= 10
        name = {"topic_id": topic_id} if by_id else {"name": topic}

        def wanted(group: str, *, every: bool, member_id: str | None = None, epoch: int = -1) -> dict[str, Any]:
            topics = None if every else [name | {"partition_indexes": [0, 1]}]  # noqa: B023
            return {"group_id": group, "member_id": member_id, "member_epoch": epoch, "topics": topics}

        def ask(*groups: dict[str, Any]) -> None:
            peer.ask("offset_fetch", version, {"groups": list(groups), "require_stable": False})  # noqa: B023

        ask()
        ask(wanted(first, every=False), wanted(second, every=True), wanted(missing, every=False))
        ask(wanted(first, every=True), wanted("", every=False), wanted(missing, every=True))
        ask(wanted(member.group, every=False, member_id=member.id, epoch=1))
        ask(wanted(member.group, every=False, member_id=member.id, epoch=7))
        ask(wanted(member.group, every=False, member_id="stranger", epoch=1))
        ask(wanted(first, every=False, member_id="stranger", epoch=0))
        ask(wanted(missing, every=False, member_id="stranger", epoch=0))
        ask(wanted(first, every=False), wanted(first, every=True))


@script("offset-topic-ids", seconds=2, family="committed-offsets")
def topic_ids(peer: Peer) -> None:
    """v10 names topics by id."""
    topic = create(peer, "by-id", partitions=2)
    topic_id = peer.topic_id(topic)
    group = peer.name("by-id")
    for wrong in (WRONG_ID, NO_ID):
        _commit(peer, 10, group, (wrong, 0, 1))
    describe(peer, group)
    _commit(peer, 10, group, (topic_id, 0, 1), (topic_id, 5, 1), (WRONG_ID, 0, 1))
    _fetch(peer, 10, group, {topic_id: [0, 1, 5], WRONG_ID: [0, 1]})
    _fetch(peer, 10, group, {NO_ID: [0]})
    _fetch(peer, 10, group, None)
    _fetch(peer, 9, group, None)
    _fetch(peer, 10, peer.name("missing"), {topic_id: [0], WRONG_ID: [0]})
    _fetch(peer, 10, peer.name("missing"), None)


@script("offset-metadata", seconds=2, family="committed-offsets")
def metadata(peer: Peer) -> None:
    """Metadata of offsets: null, empty, not ASCII, as long as allowed and one longer."""
    topic = create(peer, "metadata", partitions=3)
    for version in (2, 5, 8, 9):
        group = peer.name(f"metadata-{version}")
        for text in (None, "", "é€😀", "x" * LONGEST_METADATA, "x" * (LONGEST_METADATA + 1), "é" * LONGEST_METADATA):
            _commit(peer, version, group, (topic, 0, 1), committed_metadata=text)
            if text is None or len(text) < 10:
                _fetch(peer, 5, group, {topic: [0]})
        body = commit_body(group, [(topic, 0, 2), (topic, 1, 2), (topic, 2, 2)])
        body["topics"][0]["partitions"][1]["committed_metadata"] = "x" * (LONGEST_METADATA + 1)
        peer.ask("offset_commit", version, body)
        _fetch(peer, 5, group, {topic: [1, 2]})
    # Before anything else is looked at.
    group = peer.name("refused")
    _commit(peer, 8, group, (topic, 0, 1), committed_metadata="x" * (LONGEST_METADATA + 1))
    describe(peer, group)


@script("offset-retention-fields", seconds=2, family="committed-offsets")
def retention_fields(peer: Peer) -> None:
    """v2-4 carry a retention of the client's own."""
    topic = create(peer, "retention")
    for version in (2, 3, 4):
        group = peer.name(f"retention-{version}")
        for retention in (-1, 3_600_000, 1 << 40):
            body = commit_body(group, [(topic, 0, 3)]) | {"retention_time": retention}
            peer.ask("offset_commit", version, body)
            _fetch(peer, 5, group, {topic: [0]})


@script("offset-commit-twice", seconds=1, family="committed-offsets")
def commit_twice(peer: Peer) -> None:
    """The same partition or topic more than once in a request."""
    topic = create(peer, "twice", partitions=2)
    group = peer.name("twice")
    body = commit_body(group, [(topic, 0, 1), (topic, 0, 2), (topic, 1, 3)])
    peer.ask("offset_commit", 8, body)
    _fetch(peer, 5, group, {topic: [0, 1]})
    body["topics"] = [*body["topics"], *commit_body(group, [(topic, 0, 5)])["topics"]]
    peer.ask("offset_commit", 8, body)
    _fetch(peer, 5, group, {topic: [0, 1]})
    peer.ask("offset_commit", 8, commit_body(group, []) | {"topics": [{"name": topic, "partitions": []}]})
