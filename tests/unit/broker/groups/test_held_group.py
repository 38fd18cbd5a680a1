"""A group that a push subscription holds: how it looks, what it refuses, and what is left of it after its release."""

from __future__ import annotations

import pytest

from penstock.broker.groups.claim import NO_MEMBER, CommitClaim
from penstock.broker.groups.classic.exchange import JoinAnswer
from penstock.broker.groups.description import MemberDescription
from penstock.broker.groups.group_state import GroupState, GroupType
from penstock.model.errors import ErrorCode, KafkaError
from tests.support.group_requests import change, code_of, commit, join, stable
from tests.support.group_world import World, run

pytestmark = pytest.mark.feature("K-05")


class Subscription:
    def __init__(self, *members: str) -> None:
        self.members = members

    def group_members(self) -> list[MemberDescription]:
        return [MemberDescription(name, None, "client", "host", b"meta", b"") for name in self.members]


def test_a_held_group_looks_stable_and_refuses_kafka_members() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            await world.groups.hold("g", Subscription("a", "b"))
            group = world.groups.find("g")
            assert group is not None
            described = group.describe()
            assert (described.group_type, described.state) == (GroupType.CLASSIC, GroupState.STABLE)
            assert (described.protocol_type, described.protocol_name) == ("consumer", "push")
            assert [member.member_id for member in described.members] == ["a", "b"]
            assert group.member_count == 2
            refused = await join(world, "g", "somebody")
            assert refused == JoinAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id="somebody")
            for claim in (NO_MEMBER, CommitClaim("a", None, 0)):
                with pytest.raises(KafkaError) as unknown:
                    await world.groups.commit("g", claim, [change(world, 2)])
                assert code_of(unknown) is ErrorCode.UNKNOWN_MEMBER_ID
            group.check_commit(CommitClaim(in_transaction=True), world.groups.shards.now())
            with pytest.raises(KafkaError) as in_use:
                await world.groups.delete_group("g")
            assert code_of(in_use) is ErrorCode.NON_EMPTY_GROUP
            codes = await world.groups.delete_offsets("g", [("t", 0)])
            assert codes == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}

    run(test())


def test_a_released_group_is_empty_and_goes_on_in_its_generation() -> None:
    async def test() -> None:
        async with World() as world:
            answer = await stable(world, "g")
            with pytest.raises(KafkaError) as in_use:
                await world.groups.hold("g", Subscription("a"))
            assert code_of(in_use) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            await world.pass_time(60_000)  # its member's session ends
            one, other = Subscription("a"), Subscription("b")
            await world.groups.hold("g", one)
            await world.groups.hold("g", one)
            with pytest.raises(KafkaError):
                await world.groups.hold("g", other)
            world.groups.release("g", other)  # holds nothing
            group = world.groups.find("g")
            assert group is not None
            assert group.state is GroupState.STABLE
            world.groups.release("g", one)
            group = world.groups.find("g")
            assert group is not None
            described = group.describe()
            assert (described.state, described.protocol_type, described.members) == (GroupState.EMPTY, None, ())
            assert described.generation == answer.generation + 1
            assert (await stable(world, "g")).generation == answer.generation + 2

    run(test())
