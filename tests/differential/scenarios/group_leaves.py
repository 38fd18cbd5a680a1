"""Classic groups: LeaveGroup over its versions, and what administrators do to groups from outside."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.groups import (
    EMPTY,
    Member,
    commit_body,
    describe,
    fetch_offsets_body,
    join_alone,
    join_beside,
    leave_body,
    wait_state,
)
from tests.differential.steps.topics import create
from tests.support.group_client import subscription


@script("group-leaves", seconds=3, family="groups")
def leaves(peer: Peer) -> None:
    """Several members at once, unknown ones, none, members twice, static ones by instance or by id."""
    for version in range(6):
        group = peer.name(f"leaves-{version}")
        peer.ask("leave_group", version, leave_body(group, [{"member_id": "stranger"}]))
        peer.ask("leave_group", version, leave_body("", [{"member_id": "stranger"}]))
        leader, second, third = (Member(peer, name, group) for name in ("leader", "second", "third"))
        join_alone(leader)
        join_beside(leader, [second, third])
        peer.ask("leave_group", version, leave_body(group, [{"member_id": "stranger"}]))
        peer.ask("leave_group", version, leave_body(group, [{"member_id": ""}]))
        if version >= 3:
            peer.ask("leave_group", version, leave_body(group, []))
            peer.ask("leave_group", version, leave_body(group, [{"member_id": second.id, "group_instance_id": "x"}]))
        leader.heartbeat()
        both = [{"member_id": each} for each in (second.id, "stranger", third.id, second.id)]
        peer.ask("leave_group", version, leave_body(group, both))
        leader.heartbeat()
        describe(peer, group)
        leader.leave(version)
        leader.leave(version)


@script("group-static-leaves", seconds=2, family="groups")
def static_leaves(peer: Peer) -> None:
    """Static members leave by instance alone, by instance and id, and not by another's id."""
    for version in (3, 4, 5):
        group = peer.name(f"static-leaves-{version}")
        leader = Member(peer, "leader", group)
        one, two = (Member(peer, name, group, instance=f"i-{name}") for name in ("one", "two"))
        join_alone(leader)
        join_beside(leader, [one, two])
        for wrong in (
            {"member_id": "", "group_instance_id": "i-nobody"},
            {"member_id": two.id, "group_instance_id": "i-one"},
            {"member_id": "stranger", "group_instance_id": "i-one"},
            {"member_id": leader.id, "group_instance_id": "i-nobody"},
        ):
            peer.ask("leave_group", version, leave_body(group, [wrong]))
        leader.heartbeat()
        peer.ask("leave_group", version, leave_body(group, [{"member_id": "", "group_instance_id": "i-one"}]))
        two.heartbeat()
        one.heartbeat()
        one.join()
        peer.ask("leave_group", version, leave_body(group, [{"member_id": two.id}]))
        two.heartbeat()
        two.commit("no-such-topic", 1)
        leader.leave(version)
        wait_state(peer, group, EMPTY)


@script("group-deletion", seconds=2, family="groups")
def deletion(peer: Peer) -> None:
    """DeleteGroups: with members, without, unknown, twice, several; and what is left of its offsets."""
    topic = create(peer, "deletion")
    busy, empty, simple = peer.name("busy"), peer.name("empty"), peer.name("simple")
    member, former = Member(peer, "member", busy), Member(peer, "former", empty)
    join_alone(member)
    member.commit(topic, 5)
    join_alone(former)
    former.commit(topic, 6)
    former.leave()
    peer.ask("offset_commit", 8, commit_body(simple, [(topic, 0, 7)]))
    describe(peer, simple)
    describe(peer, simple, version=6)
    for version in (0, 1, 2):
        peer.ask("delete_groups", version, {"groups_names": [busy, peer.name("missing"), ""]})
        peer.ask("delete_groups", version, {"groups_names": []})
    peer.ask("delete_groups", 1, {"groups_names": [empty, busy]})
    peer.ask("delete_groups", 2, {"groups_names": [empty, simple]})
    for group in (busy, empty, simple):
        peer.ask("offset_fetch", 7, fetch_offsets_body(group, {topic: [0]}))
        describe(peer, group)
    member.leave()
    wait_state(peer, busy, EMPTY)
    peer.ask("delete_groups", 0, {"groups_names": [busy]})
    member.heartbeat()
    # A group of the same name starts from scratch.
    again = Member(peer, "again", busy)
    join_alone(again)
    peer.ask("offset_fetch", 7, fetch_offsets_body(busy, None))


@script("group-offset-deletion", seconds=2, family="groups")
def offset_deletion(peer: Peer) -> None:
    """OffsetDelete: of topics that a group reads and others, unknown ones, in every kind of group."""
    read, unread = create(peer, "read", partitions=2), create(peer, "unread", partitions=2)
    missing = peer.name("missing")

    def delete(group: str, wanted: dict[str, list[int]]) -> None:
        topics = [
            {"name": name, "partitions": [{"partition_index": index} for index in indexes]}
            for name, indexes in wanted.items()
        ]
        peer.ask("offset_delete", 0, {"group_id": group, "topics": topics})

    group = peer.name("readers")
    delete(group, {unread: [0]})
    delete("", {unread: [0]})
    delete(group, {missing: [0]})
    member = Member(peer, "member", group, protocols={"range": subscription(read)})
    member.ask_for_id()
    delete(group, {unread: [0]})
    member.join()
    delete(group, {unread: [0], read: [0]})
    member.sync({member.id: b""})
    everything = [(topic, index, 10) for topic in (read, unread) for index in (0, 1)]
    peer.ask(
        "offset_commit",
        8,
        commit_body(group, everything) | {"generation_id_or_member_epoch": member.generation, "member_id": member.id},
    )
    delete(group, {unread: [0, 7], read: [0], missing: [0]})
    delete(group, {unread: [0]})
    delete(group, {})
    delete(group, {unread: []})
    delete(group, {missing: [0, 1]})
    delete(group, {read: [2, -1]})
    peer.ask("offset_fetch", 7, fetch_offsets_body(group, {read: [0, 1], unread: [0, 1]}))
    member.leave()
    wait_state(peer, group, EMPTY)
    delete(group, {read: [0]})
    peer.ask("offset_fetch", 7, fetch_offsets_body(group, {read: [0, 1], unread: [0, 1]}))
    # Not consumers: the topics that they read are unknown.
    connect = Member(peer, "worker", peer.name("connect"), protocol_type="connect", protocols={"v1": b"?"})
    join_alone(connect)
    connect.commit(read, 3)
    delete(connect.group, {read: [0], unread: [1]})
    connect.leave()
    wait_state(peer, connect.group, EMPTY)
    delete(connect.group, {read: [0], unread: [1]})
    simple = peer.name("simple")
    peer.ask("offset_commit", 8, commit_body(simple, [(read, 0, 4), (read, 1, 5)]))
    delete(simple, {read: [1]})
    peer.ask("offset_fetch", 7, fetch_offsets_body(simple, {read: [0, 1]}))
    delete(simple, {read: [0]})
    describe(peer, simple, version=6)


@script("group-listed", seconds=2, family="groups")
def listed(peer: Peer) -> None:
    """ListGroups with filters of states and types that leave only what this script made, or nothing."""
    topic = create(peer, "listed")
    waiting = Member(peer, "waiting", peer.name("completing"))
    waiting.ask_for_id()
    waiting.join()
    for version in (4, 5):
        for state in ("CompletingRebalance", "completingrebalance", "Nonsense", ""):
            peer.ask("list_groups", version, {"states_filter": [state], "types_filter": []})
    for kinds in (["classic"], ["Classic"], ["consumer"], ["Share"], ["nonsense"], ["classic", "nonsense"]):
        peer.ask("list_groups", 5, {"states_filter": ["CompletingRebalance"], "types_filter": kinds})
    peer.ask("list_groups", 5, {"states_filter": ["Dead", "CompletingRebalance"], "types_filter": ["classic"]})
    peer.ask("list_groups", 5, {"states_filter": ["Assigning", "Reconciling"], "types_filter": []})
    waiting.sync({waiting.id: b""})
    waiting.commit(topic, 1)
    waiting.leave()
    peer.ask("list_groups", 5, {"states_filter": ["CompletingRebalance"], "types_filter": []})
