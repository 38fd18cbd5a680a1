"""Classic groups: members that are silent for too long, in each of the ways in which that is possible."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.groups import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    Member,
    join_alone,
    join_beside,
    wait_members,
    wait_state,
)
from tests.support.group_client import subscription

SHORTEST_SESSION_MS = 6_000


def _joined_pair(peer: Peer, group: str) -> tuple[Member, Member]:
    """Two members that have joined and not synced, and may be quick about it."""
    leader, follower = (Member(peer, name, group, rebalance_ms=700) for name in ("leader", "follower"))
    join_alone(leader)
    follower.ask_for_id()
    joining = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    leader.join()
    follower.finish_join(joining)
    return leader, follower


@script("group-rebalance-timeout", seconds=3, family="groups")
def rebalance_timeout(peer: Peer) -> None:
    """Who does not join again within the longest rebalance timeout of the members is out."""
    group = peer.name("too-late")
    leader, follower = (Member(peer, name, group, rebalance_ms=700) for name in ("leader", "follower"))
    join_alone(leader)
    join_beside(leader, [follower])
    follower.protocols = {"range": subscription("changed")}
    follower.join()
    follower.sync({follower.id: b"alone now"})
    wait_members(peer, group, STABLE, 1)
    leader.heartbeat()
    leader.commit("no-such-topic", 1)
    leader.join()


@script("group-follower-never-syncs", seconds=4, family="groups")
def follower_never_syncs(peer: Peer) -> None:
    """A follower that joins and never asks for its share is thrown out, and the others rebalance."""
    group = peer.name("unsynced")
    leader, follower = _joined_pair(peer, group)
    leader.sync({leader.id: b"l", follower.id: b"f"})
    wait_members(peer, group, PREPARING, 1)
    leader.heartbeat()
    follower.heartbeat()
    follower.sync()
    leader.join()
    leader.sync({leader.id: b"all"})
    wait_members(peer, group, STABLE, 1)


@script("group-leader-never-syncs", seconds=4, family="groups")
def leader_never_syncs(peer: Peer) -> None:
    """A leader that never assigns is thrown out, and the follower that waits is told to join again."""
    group = peer.name("unassigned")
    leader, follower = _joined_pair(peer, group)
    waiting = follower.start_sync()
    peer.take(waiting)
    wait_members(peer, group, PREPARING, 1)
    follower.join()
    follower.sync({follower.id: b"all"})
    leader.heartbeat()
    wait_members(peer, group, STABLE, 1)


@script("group-nobody-syncs", seconds=3, family="groups")
def nobody_syncs(peer: Peer) -> None:
    """A group of one that joins and is never heard of again."""
    group = peer.name("silent")
    member = Member(peer, "member", group, rebalance_ms=500)
    member.ask_for_id()
    member.join()
    wait_state(peer, group, COMPLETING)
    wait_members(peer, group, EMPTY, 0)
    member.heartbeat()
    member.join()


@script("group-session-timeout", seconds=9, slow=True, family="groups")
def session_timeout(peer: Peer) -> None:
    """A member whose heartbeats stop is out after its session timeout; another rebalances without it."""
    group = peer.name("sessions")
    leader = Member(peer, "leader", group)
    silent = Member(peer, "silent", group, session_ms=SHORTEST_SESSION_MS)
    join_alone(leader)
    join_beside(leader, [silent])
    silent.heartbeat()
    wait_members(peer, group, PREPARING, 1)
    leader.heartbeat()
    silent.heartbeat()
    silent.leave()
    leader.join()
    leader.sync({leader.id: b"all"})
    wait_members(peer, group, STABLE, 1)


@script("group-session-timeout-alone", seconds=8, slow=True, family="groups")
def session_timeout_alone(peer: Peer) -> None:
    """The last member's session ends: the group is empty, and one generation further."""
    group = peer.name("sessions-alone")
    member = Member(peer, "member", group, session_ms=SHORTEST_SESSION_MS)
    join_alone(member)
    wait_state(peer, group, EMPTY)
    member.heartbeat()
    member.sync()
    member.join()
    again = Member(peer, "again", group)
    join_alone(again)


@script("group-pending-id-lapses", seconds=8, slow=True, family="groups")
def pending_id_lapses(peer: Peer) -> None:
    """An id that nobody joins with holds up a rebalance until its session timeout, and is then unknown."""
    group = peer.name("lapses")
    leader = Member(peer, "leader", group)
    join_alone(leader)
    ghost = Member(peer, "ghost", group, session_ms=SHORTEST_SESSION_MS)
    ghost.ask_for_id()
    joining = leader.start_join()
    wait_state(peer, group, PREPARING)
    leader.finish_join(joining)
    leader.sync({leader.id: b"all"})
    ghost.join()
    ghost.leave()


@script("group-join-displaced", seconds=12, slow=True, family="groups-never-answered")
def join_displaced(peer: Peer) -> None:
    """A member that joins again, on another connection, while its first join waits."""
    group = peer.name("displaced")
    leader, follower = Member(peer, "leader", group), Member(peer, "follower", group)
    join_alone(leader)
    follower.ask_for_id()
    first = follower.start_join()
    wait_members(peer, group, PREPARING, 2)
    body = follower.join_body()
    second = peer.send("join_group", 5, body, on="second", client_id="follower", label="the second one")
    leader.heartbeat()
    assert peer.pending(second)
    leader.join()
    peer.take(second)
    peer.take(first, within_s=5.0)
