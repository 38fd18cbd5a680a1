"""Committed offsets of groups: who may see, commit and delete them.

Requests answer topic by topic, so it is their door that leaves out topics which the session may not read or describe.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.groups.claim import CommitClaim
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.offsets.group_offsets import Table
from penstock.broker.groups.offsets.records import OffsetChange
from penstock.broker.shares import Share
from penstock.model.errors import ErrorCode
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session


class OffsetOperations:
    """KafkaError GROUP_AUTHORIZATION_FAILED where the session has not the right that an operation needs."""

    def __init__(self, coordinator: GroupCoordinator, access: Access, share: Share) -> None:
        self._coordinator = coordinator
        self._access = access
        self._share = share

    def readable(self, session: Session, topic: str) -> bool:
        """Whether the session may commit and delete offsets of the topic."""
        return self._access.allows_topic(session, Operation.READ, topic)

    def describable(self, session: Session, topic: str) -> bool:
        """Whether the session may see offsets of the topic."""
        return self._access.shows_topic(session, Operation.DESCRIBE, topic)

    def check_describe(self, session: Session, group_id: str) -> None:
        """KafkaError unless the session may see the offsets of the group, and whether there is one."""
        self._access.check_group(session, Operation.DESCRIBE, group_id)

    def committed(self, session: Session, group_id: str) -> Table:
        """The committed offsets of the group in all topics; the door leaves out topics that are not `describable`."""
        self.check_describe(session, group_id)
        return self._coordinator.committed(group_id)

    async def commit(self, session: Session, group_id: str, claim: CommitClaim, changes: list[OffsetChange]) -> None:
        self._access.check_group(session, Operation.READ, group_id)
        with self._share.taken(session, group_id):
            await self._coordinator.commit(group_id, claim, changes)

    async def delete(
        self, session: Session, group_id: str, places: Sequence[tuple[str, int]]
    ) -> dict[tuple[str, int], ErrorCode]:
        self._access.check_group(session, Operation.DELETE, group_id)
        return await self._coordinator.delete_offsets(group_id, places)
