"""Members of a subscription as DescribeGroups shows them: every member reads every partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.broker.coordination import record_primitives as wire
from penstock.broker.delivery.core.member import Member
from penstock.broker.groups.description import MemberDescription


def describe_members(members: Iterable[Member], topic: str, partitions: Collection[int]) -> list[MemberDescription]:
    name = wire.string(topic)
    one_topic, nothing = wire.INT16.pack(0) + wire.INT32.pack(1), wire.INT32.pack(-1)
    subscription = one_topic + name + nothing
    indexes = b"".join(wire.INT32.pack(index) for index in sorted(partitions))
    assignment = one_topic + name + wire.INT32.pack(len(partitions)) + indexes + nothing
    return [
        MemberDescription(member.member_id, None, member.client_id, member.host, subscription, assignment)
        for member in members
    ]
