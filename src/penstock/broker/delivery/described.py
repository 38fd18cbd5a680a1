"""Members of a subscription as DescribeGroups shows them: every member reads every partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.broker.coordination import record_primitives as wire
from penstock.broker.delivery.core.member import Member
from penstock.broker.groups import members as group_members
from penstock.broker.groups.group import PUSH


def described(members: Iterable[Member], topic: str, partitions: Collection[int]) -> list[group_members.Member]:
    name = wire.string(topic)
    one_topic, nothing = wire.INT16.pack(0) + wire.INT32.pack(1), wire.INT32.pack(-1)
    subscription = one_topic + name + nothing
    indexes = b"".join(wire.INT32.pack(index) for index in sorted(partitions))
    assignment = one_topic + name + wire.INT32.pack(len(partitions)) + indexes + nothing
    return [
        group_members.Member(
            member_id=member.member_id,
            instance_id=None,
            client_id=member.client_id,
            client_host=member.host,
            rebalance_timeout_ms=0,
            session_timeout_ms=0,
            protocols=((PUSH, subscription),),
            assignment=assignment,
        )
        for member in members
    ]
