"""A group as tools see it: the values behind DescribeGroups and the REST API, the same for every kind of group."""

from __future__ import annotations

from typing import NamedTuple

from penstock.broker.groups.embedded_protocol import assigned_partitions
from penstock.broker.groups.group_state import GroupState, GroupType


class MemberDescription(NamedTuple):
    """One member; `metadata` and `assignment` are what it and its leader sent, in the group's own protocol."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupDescription(NamedTuple):
    """One group at one moment."""

    group_id: str
    group_type: GroupType
    state: GroupState
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    members: tuple[MemberDescription, ...]

    def assigned(self, member: MemberDescription) -> dict[str, list[int]] | None:
        """Partitions of a member by topic, None where the protocol of the group does not say."""
        return assigned_partitions(self.protocol_type, member.assignment)
