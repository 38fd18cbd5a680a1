"""Classic groups: heartbeats, commits, descriptions and re-joins in every state of a group."""

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

HEARTBEATS = (0, 1, 3, 4)


def _heartbeats(member: Member) -> None:
    for version in HEARTBEATS:
        member.heartbeat(version)
        member.heartbeat(version, generation_id=member.generation + 1)
        member.heartbeat(version, generation_id=-1)
        member.heartbeat(version, member_id="stranger")
        member.heartbeat(version, member_id="")
    member.heartbeat(3, group_instance_id="nobody")


@script("group-heartbeats", seconds=2, family="groups")
def heartbeats(peer: Peer) -> None:
    group = peer.name("beats")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group)
    _heartbeats(leader)
    leader.heartbeat(group_id="")
    leader.ask_for_id()
    wait_state(peer, group, EMPTY)
    _heartbeats(leader)
    leader.join()
    wait_state(peer, group, COMPLETING)
    _heartbeats(leader)
    leader.sync({leader.id: b"all"})
    wait_state(peer, group, STABLE)
    _heartbeats(leader)
    follower.ask_for_id()
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    _heartbeats(leader)
    follower.heartbeat(generation_id=1)
    leader.join()
    follower.finish_join(joining)
    _heartbeats(follower)
    leader.leave()
    wait_state(peer, group, PREPARING)
    _heartbeats(leader)
    _heartbeats(follower)
    follower.leave()
    wait_state(peer, group, EMPTY)
    _heartbeats(follower)


@script("group-commits-by-state", seconds=3, family="groups")
def commits_by_state(peer: Peer) -> None:
    """Who may commit when: members, strangers and consumers without a group, in every state."""
    topic = create(peer, "commits")
    group = peer.name("commits")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group)

    def commits(member: Member, offset: int) -> None:
        for version in (2, 5, 7, 9):
            member.commit(topic, offset, version)
            member.commit(topic, offset, version, generation_id_or_member_epoch=member.generation + 1)
            member.commit(topic, offset, version, generation_id_or_member_epoch=-1)
            member.commit(topic, offset, version, generation_id_or_member_epoch=-1, member_id="")
            member.commit(topic, offset, version, member_id="stranger")
            member.commit(topic, offset, version, member_id="")
        member.commit(topic, offset, 7, group_instance_id="nobody")

    leader.commit(topic, 1, 8, generation_id_or_member_epoch=0, member_id="x")
    leader.commit(topic, 1, 9, generation_id_or_member_epoch=0, member_id="x")
    leader.ask_for_id()
    commits(leader, 1)
    leader.join()
    commits(leader, 2)
    leader.sync({leader.id: b"all"})
    commits(leader, 3)
    follower.ask_for_id()
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    commits(leader, 4)
    commits(follower, 5)
    leader.join()
    follower.finish_join(joining)
    commits(follower, 6)
    leader.leave()
    wait_state(peer, group, PREPARING)
    commits(follower, 7)
    follower.leave()
    wait_state(peer, group, EMPTY)
    commits(follower, 8)
    peer.ask("offset_fetch", 7, {"group_id": group, "topics": None})


@script("group-described", seconds=3, family="groups")
def described(peer: Peer) -> None:
    """DescribeGroups at every version and in every state."""
    group, missing = peer.name("described"), peer.name("missing")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group, instance="static")

    def look() -> None:
        for version in range(7):
            describe(peer, group, missing, version=version)
        describe(peer, group, missing, version=5, operations=True)
        describe(peer, group, missing, version=6, operations=True)

    look()
    describe(peer)
    describe(peer, "")
    describe(peer, "", version=6)
    leader.ask_for_id()
    look()
    leader.join()
    look()
    leader.sync({leader.id: b"all"})
    look()
    describe(peer, group, group)
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    look()
    leader.join()
    follower.finish_join(joining)
    look()
    leader.sync({leader.id: b"l", follower.id: b"f"})
    follower.sync()
    look()
    leader.leave()
    follower.leave()
    wait_state(peer, group, EMPTY)
    look()
    peer.ask("delete_groups", 2, {"groups_names": [group]})
    look()


@script("group-rejoins", seconds=3, family="groups")
def rejoins(peer: Peer) -> None:
    """Members that join again, with what they had and with something new, as leader and as follower."""
    group = peer.name("rejoin")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group)
    join_alone(leader)
    join_beside(leader, [follower])
    follower.join(5)
    follower.join(0)
    follower.join(9)
    leader.heartbeat()
    follower.join(5, member_id="stranger")
    # Another session timeout is no reason to rebalance, another subscription is.
    follower.session_ms = 20_000
    follower.join(5)
    follower.protocols = {"range": subscription("news", "sport")}
    joining = follower.start_join()
    wait_state(peer, group, PREPARING)
    leader.heartbeat()
    leader.join()
    follower.finish_join(joining)
    # In CompletingRebalance: again the same is answered at once, to both.
    leader.join(5)
    follower.join(5)
    leader.join(9)
    leader.sync({leader.id: b"1", follower.id: b"2"})
    follower.sync()
    # A leader that joins again wants a new assignment, even with the same metadata.
    joining = leader.start_join()
    wait_state(peer, group, PREPARING)
    follower.heartbeat()
    follower.join()
    leader.finish_join(joining)
    # A change in CompletingRebalance starts the rebalance again.
    leader.protocols = {"range": subscription("weather")}
    waiting = follower.start_sync()
    joining = leader.start_join()
    peer.take(waiting)
    wait_state(peer, group, PREPARING)
    follower.join()
    leader.finish_join(joining)
    leader.sync({leader.id: b"1", follower.id: b"2"})
    follower.sync()
    follower.heartbeat()


@script("group-leader-goes", seconds=2, family="groups")
def leader_goes(peer: Peer) -> None:
    """The leader leaves a stable group, one that waits for its assignment, and one that gathers."""
    group = peer.name("leaderless")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group)
    join_alone(leader)
    join_beside(leader, [follower])
    leader.leave()
    follower.heartbeat()
    follower.join()
    waiting_alone = follower.sync({follower.id: b"mine now"})
    assert waiting_alone["error_code"] == 0
    join_beside(follower, [newcomer := Member(peer, "newcomer", group)])
    newcomer.protocols = {"range": subscription("other")}
    joining = newcomer.start_join()
    wait_state(peer, group, PREPARING)
    follower.leave()
    newcomer.finish_join(joining)
    waiting = newcomer.start_sync({newcomer.id: b"last"})
    peer.take(waiting)
    newcomer.leave(0)
    wait_state(peer, group, EMPTY)
    # An empty group remembers its generation.
    again = Member(peer, "again", group)
    join_alone(again)
    again.leave(2)
    again.leave(3)
