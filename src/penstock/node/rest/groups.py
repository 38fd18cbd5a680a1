"""Groups: of Kafka consumers and of push subscriptions, which are groups, too.

GET    /groups            in pages
GET    /groups/{group}
DELETE /groups/{group}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Response

from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupState
from penstock.broker.groups.held import PUSH
from penstock.broker.operations.groups import GroupOperations
from penstock.model.errors import ErrorCode, KafkaError
from penstock.node.rest.documented import CONFLICT, NOT_FOUND
from penstock.node.rest.group_bodies import GroupBody, GroupDetailsBody, GroupsBody, MemberBody, SubscriptionBody
from penstock.node.rest.paging import first_names, name_after, to_cursor
from penstock.node.rest.parameters import LIMIT, Asking, Cursor, GroupName, Limit
from penstock.node.rest.problems import not_found
from penstock.runtime.turns import Turns
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.storage.metadata.subscriptions import SubscriptionRow

States = Annotated[list[GroupState] | None, Query(description="Only in one of these states.")]


class KnownGroups:
    """Groups of the coordinator, and subscriptions of the push door, if there is one, by one name."""

    def __init__(
        self,
        groups: GroupCoordinator,
        operations: GroupOperations,
        access: Access,
        subscriptions: Subscriptions | None,
    ) -> None:
        self._groups = groups
        self._operations = operations
        self._access = access
        self.subscriptions = subscriptions

    def names(self, session: Session, states: list[GroupState] | None) -> Iterator[str]:
        """Names of all groups for a session that may describe the cluster, else of those that it may describe.

        Some may come twice.
        """
        for group in self._operations.visible(session):
            if not states or group.state in states:
                yield group.group_id
        sees_all, allows = self._access.shows_cluster(session, Operation.DESCRIBE), self._access.shows_group
        for row in () if self.subscriptions is None else self.subscriptions.all():
            if not sees_all and not allows(session, Operation.DESCRIBE, row.name):
                continue
            if not states or self.state(self._groups.find(row.name)) in states:
                yield row.name

    def get(self, session: Session, name: str) -> tuple[CoordinatedGroup | None, SubscriptionRow | None]:
        """The group or subscription; GROUP_ID_NOT_FOUND if it is neither."""
        self._access.check_group(session, Operation.DESCRIBE, name)
        return self.named(name)

    def named(self, name: str) -> tuple[CoordinatedGroup | None, SubscriptionRow | None]:
        """The same for a name that the session has been shown."""
        group, row = self._groups.find(name), self.row(name)
        if group is None and row is None:
            raise not_found(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {name[:249]}")
        return group, row

    def row(self, name: str) -> SubscriptionRow | None:
        if self.subscriptions is None:
            return None
        try:
            return self.subscriptions.find(name)
        except KafkaError:
            return None

    async def lag(self, name: str) -> int:
        """Messages that the group has not committed yet, over all partitions."""
        lag, turns = 0, Turns()
        for sample in self._groups.lags_of(name):
            lag += sample.lag or 0
            await turns.pause()
        return lag

    async def delete(self, session: Session, name: str) -> None:
        """Delete a group without members and the subscription of its name, if there is one."""
        self._access.check_group(session, Operation.DELETE, name)
        found, row = self.named(name)
        if row is None or self.subscriptions is None:
            await self._operations.delete(session, name)
            return
        if found is not None:
            found.check_delete()
        await self.subscriptions.delete(name)

    @staticmethod
    def state(group: CoordinatedGroup | None) -> GroupState:
        return GroupState.EMPTY if group is None else group.state


class GroupRoutes:
    def __init__(self, known: KnownGroups) -> None:
        self._known = known
        self.router = router = APIRouter(prefix="/groups", tags=["groups"])
        router.get("")(self.list_groups)
        router.get("/{group}", responses=NOT_FOUND)(self.describe_group)
        router.delete("/{group}", status_code=204, response_class=Response, responses=NOT_FOUND | CONFLICT)(
            self.delete_group
        )

    async def list_groups(
        self, session: Asking, limit: Limit = LIMIT, cursor: Cursor = None, state: States = None
    ) -> GroupsBody:
        """Groups by name, with their lag."""
        names = await first_names(self._known.names(session, state), name_after(cursor), limit + 1)
        bodies, turns = [], Turns()
        for name in names[:limit]:
            try:
                bodies.append(await self._body(name, *self._known.named(name)))
            except KafkaError as error:
                if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:  # deleted meanwhile
                    raise
            await turns.pause()
        return GroupsBody(groups=bodies, next_cursor=to_cursor(names[limit - 1]) if len(names) > limit else None)

    async def describe_group(self, session: Asking, group: GroupName) -> GroupDetailsBody:
        """State and members of a group; GET …/offsets shows its position in each partition."""
        found, row = self._known.get(session, group)
        body = await self._body(group, found, row)
        described = None if found is None else found.describe()
        return GroupDetailsBody(
            **body.model_dump(),
            generation=-1 if described is None else described.generation,
            protocol=None if described is None else described.protocol_name,
            subscription=None if row is None else self._subscription(row),
            member_list=[]
            if described is None
            else [
                MemberBody(
                    member_id=member.member_id,
                    client_id=member.client_id,
                    host=member.client_host.removeprefix("/"),
                    instance_id=member.instance_id,
                    assignment=described.assigned(member),
                )
                for member in described.members
            ],
        )

    async def delete_group(self, session: Asking, group: GroupName) -> None:
        """Delete a group without members, its offsets, and its push subscription if it has one."""
        await self._known.delete(session, group)

    async def _body(self, name: str, group: CoordinatedGroup | None, row: SubscriptionRow | None) -> GroupBody:
        protocol_type = (group.protocol_type if group is not None else None) or "consumer"
        return GroupBody(
            group=name,
            kind=PUSH if row is not None else protocol_type,
            state=self._known.state(group).value,
            members=0 if group is None else group.member_count,
            lag=await self._known.lag(name),
        )

    def _subscription(self, row: SubscriptionRow) -> SubscriptionBody:
        assert self._known.subscriptions is not None
        live = self._known.subscriptions.live(row.name)
        return SubscriptionBody(
            topic=row.topic,
            delivery="key" if row.by_key else "message",
            unacknowledged=0 if live is None else live.in_flight,
            refresh=row.refresh_id if row.refresh_ends is not None else None,
        )
