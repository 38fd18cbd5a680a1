"""Classic groups: who may join, which protocol is chosen, who is told what, and how assignments are given out."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.groups import (
    COMPLETING,
    PREPARING,
    STABLE,
    Member,
    join_alone,
    join_beside,
    wait_members,
    wait_state,
)
from tests.support.group_client import subscription

NEWS, SPORT = subscription("news"), subscription("sport")
BOTH = {"range": NEWS, "roundrobin": NEWS}


@script("group-first-join", seconds=2, family="groups")
def first_join(peer: Peer) -> None:
    """Joins of a group that does not exist, right and wrong, over the versions."""
    for version in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9):
        group = peer.name(f"first-{version}")
        stranger = Member(peer, "stranger", group)
        stranger.join(version, member_id="nobody-knows-me")
        stranger.join(version, protocols=[])
        stranger.join(version, protocol_type="")
        stranger.join(version, session_timeout=5_999)
        stranger.join(version, session_timeout=1_800_001)
        stranger.join(version, group_id="")
        member = Member(peer, "member", group)
        if version >= 4:
            member.join(version)
            member.join(version, label="a handed-out id with an instance", group_instance_id="not-mine")
        member.join(version)
        member.sync({member.id: b"share"}, version=min(version, 5))
        if version >= 5:
            member.join(version, label="an id in use with an instance", group_instance_id="not-mine")
        member.leave(min(version, 5))


@script("group-pending-ids", seconds=2, family="groups")
def pending_ids(peer: Peer) -> None:
    """Member ids that were handed out and not used yet: they count for nothing but hold up a rebalance."""
    group = peer.name("pending")
    first, second, third = (Member(peer, name, group, protocols=BOTH) for name in ("first", "second", "third"))
    first.ask_for_id(4)
    second.ask_for_id(9)
    wait_members(peer, group, "Empty", 0)
    first.heartbeat(generation_id=0)
    first.heartbeat(generation_id=-1)
    first.sync(generation_id=0)
    first.commit("no-such-topic", 1)
    first.join(5)
    first.heartbeat()
    first.sync({first.id: b"one"})
    second.heartbeat()
    second.heartbeat(generation_id=1)
    second.leave(4)
    second.leave(4)
    second.join(5)
    second.join(5, member_id="")
    third.ask_for_id()
    third.leave(1)
    third.leave(5)
    first.heartbeat()


@script("group-protocols", seconds=2, family="groups")
def protocols(peer: Peer) -> None:
    """Protocols that members offer: a vote among the common ones; a member without a common one is refused."""
    group = peer.name("vote")
    offers = {
        "first": {"range": b"r1", "roundrobin": b"b1", "sticky": b"s1"},
        "second": {"sticky": b"s2", "roundrobin": b"b2"},
        "third": {"unknown-to-all": b"u3", "sticky": b"s3", "roundrobin": b"b3"},
    }
    first, second, third = (Member(peer, name, group, protocols=offer) for name, offer in offers.items())
    first.protocol_type = second.protocol_type = third.protocol_type = "connect"
    join_alone(first, version=7)
    for version in (0, 5, 9):
        stranger = Member(peer, "stranger", group, protocols={"unknown": b""}, protocol_type="connect")
        stranger.join(version)
        stranger.join(version, member_id="stranger-1")
        stranger.join(version, protocols=[])
        stranger.join(version, protocol_type="consumer", protocols=[{"name": "range", "metadata": b""}])
        stranger.join(version, protocol_type="")
    join_beside(first, [second, third])
    assert first.protocol == "sticky"
    # Two names of one protocol, and a member that leaves the others nothing in common.
    fourth = Member(peer, "fourth", group, protocols={"range": b"r4"}, protocol_type="connect")
    fourth.join(5)
    first.sync(version=5, protocol_name="range")
    first.sync(version=5, protocol_type="consumer")
    first.sync(version=5, protocol_name=None)
    first.sync(version=5, protocol_type=None)
    first.sync(version=5)
    second.sync(version=5)


@script("group-leader-sees", seconds=2, family="groups")
def leader_sees(peer: Peer) -> None:
    """The leader is told the members, with their metadata for the chosen protocol; the others are not."""
    for version in (0, 1, 2, 5, 6, 7, 9):
        group = peer.name(f"leader-{version}")
        leader = Member(peer, "leader", group, protocols={"range": NEWS})
        follower = Member(peer, "follower", group, protocols={"range": SPORT, "roundrobin": NEWS})
        leader.ask_for_id()
        leader.join(version)
        leader.sync({leader.id: b"alone"}, version=min(version, 5))
        follower.ask_for_id()
        joining = follower.start_join(version)
        wait_members(peer, group, PREPARING, 2)
        leader.join(version)
        follower.finish_join(joining)
        wait_state(peer, group, COMPLETING)
        # Assignments for unknown members are dropped, and a member without one gets an empty one.
        leader.sync({"somebody": b"else", leader.id: b"mine"}, version=min(version, 5))
        follower.sync({follower.id: b"not for me to say"}, version=min(version, 5))
        wait_state(peer, group, STABLE)


@script("group-sync-order", seconds=2, family="groups")
def sync_order(peer: Peer) -> None:
    """SyncGroup before, with and after the leader's; wrong members and generations; again in a stable group."""
    group = peer.name("sync")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group)
    join_alone(leader)
    leader.sync()
    leader.sync({leader.id: b"changed?"})
    follower.ask_for_id()
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    leader.sync()
    leader.sync(generation_id=2)
    leader.join()
    follower.finish_join(joining)
    waiting = follower.start_sync()
    for version in (0, 3, 5):
        leader.sync(version=version, member_id="stranger")
        leader.sync(version=version, generation_id=7)
        leader.sync(version=version, generation_id=-1)
        leader.sync(version=version, group_id="")
        leader.sync(version=version, group_id=peer.name("no-such"))
    leader.sync(version=3, group_instance_id="nobody")
    leader.sync({leader.id: b"l", follower.id: b"f"})
    peer.take(waiting)
    follower.sync()
    leader.sync(version=5)
    follower.sync({follower.id: b"mine"}, version=5)


@script("group-sync-during-rebalance", seconds=2, family="groups")
def sync_during_rebalance(peer: Peer) -> None:
    """A follower waits for its share, and then a third member comes: it is told to join again."""
    group = peer.name("sync-rebalance")
    leader, follower, late = (Member(peer, name, group) for name in ("leader", "follower", "late"))
    join_alone(leader)
    follower.ask_for_id()
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    leader.join()
    follower.finish_join(joining)
    waiting = follower.start_sync()
    late.ask_for_id()
    coming = late.start_join()
    peer.take(waiting)
    wait_members(peer, group, PREPARING, 3)
    leader.heartbeat()
    leader.sync({leader.id: b"too late"})
    rejoining = leader.start_join()
    follower.join()
    late.finish_join(coming)
    leader.finish_join(rejoining)
    leader.sync({leader.id: b"1", follower.id: b"2", late.id: b"3"})
    follower.sync()
    late.sync()
