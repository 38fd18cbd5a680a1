"""Groups: who may see and delete them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.group import CoordinatedGroup
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session


class GroupOperations:
    """KafkaError GROUP_AUTHORIZATION_FAILED where the session has not the right that an operation needs."""

    def __init__(self, coordinator: GroupCoordinator, access: Access) -> None:
        self._coordinator = coordinator
        self._access = access

    def visible(self, session: Session) -> Iterator[CoordinatedGroup]:
        """All groups for a session that may describe the cluster, else those that it may describe."""
        groups = self._coordinator.all_groups()
        if self._access.shows_cluster(session, Operation.DESCRIBE):
            return groups
        allows = self._access.shows_group
        return (group for group in groups if allows(session, Operation.DESCRIBE, group.group_id))

    def find(self, session: Session, group_id: str) -> CoordinatedGroup | None:
        self._access.check_group(session, Operation.DESCRIBE, group_id)
        return self._coordinator.find(group_id)

    async def delete(self, session: Session, group_id: str) -> None:
        self._access.check_group(session, Operation.DELETE, group_id)
        await self._coordinator.delete_group(group_id)
