"""Static members (KIP-345): they come back under a new member id and take their own place again."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.groups import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    Member,
    describe,
    join_alone,
    join_beside,
    wait_members,
    wait_state,
)
from tests.differential.steps.topics import create
from tests.support.group_client import subscription


def _statics(peer: Peer, group: str, *names: str) -> list[Member]:
    return [Member(peer, name, group, instance=f"instance-{name}") for name in names]


def _fenced(member: Member, topic: str) -> None:
    """Everything that a replaced member may still try."""
    member.heartbeat(3)
    member.heartbeat(4)
    member.heartbeat(2)
    member.sync(version=3)
    member.sync(version=5)
    member.commit(topic, 1, 7)
    member.commit(topic, 1, 9)
    member.commit(topic, 1, 6)
    member.join(5)
    member.join(9)
    member.leave(3)
    member.leave(5)
    member.leave(2)


@script("static-member-returns", seconds=3, family="static-members")
def member_returns(peer: Peer) -> None:
    """A follower comes back without its member id: no rebalance if nothing changed, and the old id is fenced."""
    topic = create(peer, "statics")
    for version in (5, 6, 7, 8, 9):
        group = peer.name(f"returns-{version}")
        leader, follower = _statics(peer, group, "leader", "follower")
        join_alone(leader)
        join_beside(leader, [follower])
        (returned,) = _statics(peer, group, "follower")
        returned.join(version)
        leader.heartbeat()
        wait_members(peer, group, STABLE, 2)
        _fenced(follower, topic)
        returned.heartbeat()
        returned.sync(version=min(version, 5))
        returned.commit(topic, 1)


@script("static-leader-returns", seconds=3, family="static-members")
def leader_returns(peer: Peer) -> None:
    """The leader comes back: before v9 it is told that its former self leads, from v9 on to skip the assignment."""
    topic = create(peer, "statics")
    for version in (5, 6, 8, 9):
        group = peer.name(f"returns-{version}")
        leader, follower = _statics(peer, group, "leader", "follower")
        join_alone(leader)
        join_beside(leader, [follower])
        (returned,) = _statics(peer, group, "leader")
        returned.join(version)
        follower.heartbeat()
        _fenced(leader, topic)
        returned.sync({returned.id: b"new", follower.id: b"new"})
        follower.sync()
        wait_members(peer, group, STABLE, 2)
        # With its own id it joins as any leader does: a rebalance.
        joining = returned.start_join(version)
        wait_state(peer, group, PREPARING)
        follower.join(version)
        returned.finish_join(joining)
        returned.sync({returned.id: b"1", follower.id: b"2"})
        follower.sync()


@script("static-member-alone", seconds=2, family="static-members")
def member_alone(peer: Peer) -> None:
    """A static member that is the whole group comes back, over the versions, and with an id of its own."""
    for version in (5, 9):
        group = peer.name(f"alone-{version}")
        (member,) = _statics(peer, group, "only")
        member.join(version, member_id="stranger")
        join_alone(member, version=version)
        (returned,) = _statics(peer, group, "only")
        returned.join(version)
        returned.sync({returned.id: b"again"})
        returned.heartbeat()
        describe(peer, group)
        returned.join(version, group_instance_id="another")
        returned.join(version, group_instance_id=None)
        returned.join(version, member_id="stranger")


@script("static-member-changed", seconds=3, family="static-members")
def member_changed(peer: Peer) -> None:
    """A static member comes back with something else: metadata alone is no reason, another protocol choice is."""
    group = peer.name("changed")
    offers = {"range": subscription("news"), "roundrobin": subscription("news")}
    leader, follower = (
        Member(peer, name, group, instance=f"i-{name}", protocols=offers) for name in ("leader", "follower")
    )
    join_alone(leader)
    join_beside(leader, [follower])
    metadata = Member(peer, "metadata", group, instance="i-follower")
    metadata.protocols = {"range": subscription("sport"), "roundrobin": subscription("sport")}
    metadata.join(7)
    leader.heartbeat()
    describe(peer, group)
    other = Member(peer, "other", group, instance="i-follower", protocols={"roundrobin": subscription("sport")})
    joining = other.start_join(7)
    wait_state(peer, group, PREPARING)
    leader.heartbeat()
    metadata.heartbeat()
    leader.join()
    other.finish_join(joining)
    leader.sync({leader.id: b"l", other.id: b"o"})
    other.sync()
    stranger = Member(peer, "stranger", group, instance="i-follower", protocols={"unheard-of": b""})
    stranger.join(5)
    other.heartbeat()


@script("static-member-twice", seconds=3, family="static-members")
def member_twice(peer: Peer) -> None:
    """Two with the same instance id while the group rebalances: the first one, waiting, is told that it is fenced."""
    topic = create(peer, "statics")
    group = peer.name("twice")
    (leader,) = _statics(peer, group, "leader")
    join_alone(leader)
    first = Member(peer, "first", group, instance="the-same")
    second = Member(peer, "second", group, instance="the-same")
    joining_first = first.start_join()
    wait_members(peer, group, PREPARING, 2)
    joining_second = second.start_join()
    peer.take(joining_first)
    leader.join()
    second.finish_join(joining_second)
    # And while it waits for its share.
    waiting = second.start_sync()
    third = Member(peer, "third", group, instance="the-same")
    joining_third = third.start_join()
    peer.take(waiting)
    wait_members(peer, group, PREPARING, 2)
    leader.join()
    third.finish_join(joining_third)
    leader.sync({leader.id: b"l", third.id: b"t"})
    third.sync()
    _fenced(second, topic)


@script("static-member-in-completing", seconds=3, family="static-members")
def in_completing(peer: Peer) -> None:
    """A static member that comes back before the assignment is there starts another rebalance."""
    group = peer.name("completing")
    leader, follower = _statics(peer, group, "leader", "follower")
    join_alone(leader)
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    leader.join()
    follower.finish_join(joining)
    wait_state(peer, group, COMPLETING)
    (returned,) = _statics(peer, group, "follower")
    joining = returned.start_join(9)
    wait_state(peer, group, PREPARING)
    follower.heartbeat()
    leader.join(9)
    returned.finish_join(joining)
    leader.sync({leader.id: b"l", returned.id: b"f"})
    returned.sync()


@script("static-member-stays-away", seconds=3, family="static-members")
def stays_away(peer: Peer) -> None:
    """A static member that does not join again in time keeps its place; a dynamic one loses it."""
    group = peer.name("away")
    leader = Member(peer, "leader", group, rebalance_ms=700)
    static = Member(peer, "static", group, instance="i-static", rebalance_ms=700)
    dynamic = Member(peer, "dynamic", group, rebalance_ms=700)
    join_alone(leader)
    join_beside(leader, [static, dynamic])
    leader.join()
    dynamic.heartbeat()
    leader.sync({leader.id: b"l", static.id: b"s"})
    static.heartbeat()
    static.sync()
    wait_members(peer, group, STABLE, 2)


@script("static-member-timeout", seconds=9, slow=True, family="static-members")
def timeout(peer: Peer) -> None:
    """A static member, too, is out when its session ends; its instance can then be used again."""
    group = peer.name("timeout")
    leader = Member(peer, "leader", group)
    static = Member(peer, "static", group, instance="i-static", session_ms=6_000)
    join_alone(leader)
    join_beside(leader, [static])
    wait_members(peer, group, PREPARING, 1)
    static.heartbeat()
    static.leave()
    again = Member(peer, "again", group, instance="i-static", session_ms=6_000)
    joining = again.start_join()
    wait_members(peer, group, PREPARING, 2)
    leader.join()
    again.finish_join(joining)
    leader.leave()
    again.leave()
    wait_state(peer, group, EMPTY)
