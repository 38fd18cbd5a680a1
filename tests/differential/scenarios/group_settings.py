"""Classic groups on brokers with other settings: how large a group may be, and how long its first join waits."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.groups import PREPARING, STABLE, Member, join_alone, join_beside, wait_members


@script("group-full", seconds=2, family="group-settings", settings={"group.max.size": 2})
def full(peer: Peer) -> None:
    """A group that has as many members as it may."""
    group = peer.name("full")
    leader, second = Member(peer, "leader", group), Member(peer, "second", group)
    join_alone(leader)
    join_beside(leader, [second])
    for version in range(10):
        Member(peer, "third", group).join(version)
        Member(peer, "third", group).join(version, member_id="stranger")
        if version >= 5:
            Member(peer, "third", group, instance="i-third").join(version)
    second.join()
    leader.heartbeat()
    second.leave()
    third = Member(peer, "third", group)
    third.ask_for_id()
    fourth = Member(peer, "fourth", group)
    fourth.join()
    joining = third.start_join()
    wait_members(peer, group, PREPARING, 2)
    leader.heartbeat()
    fourth.leave()
    leader.join()
    third.finish_join(joining)
    fourth.join()
    leader.sync({leader.id: b"l", third.id: b"t"})
    third.sync()
    wait_members(peer, group, STABLE, 2)


@script("group-first-delay", seconds=4, family="group-settings", settings={"group.initial.rebalance.delay.ms": 700})
def first_delay(peer: Peer) -> None:
    """A new group waits for more members before its first generation begins."""
    group = peer.name("delayed")
    first, second, late = (Member(peer, name, group) for name in ("first", "second", "late"))
    first.ask_for_id()
    joining_first = first.start_join()
    wait_members(peer, group, PREPARING, 1)
    second.ask_for_id()
    joining_second = second.start_join()
    wait_members(peer, group, PREPARING, 2)
    first.heartbeat(generation_id=0)
    first.heartbeat(generation_id=1)
    first.finish_join(joining_first)
    second.finish_join(joining_second)
    first.sync({first.id: b"1", second.id: b"2"})
    second.sync()
    # Later ones do not wait.
    late.ask_for_id()
    joining = late.start_join()
    wait_members(peer, group, PREPARING, 3)
    second.start_join()
    first.join()
    late.finish_join(joining)
