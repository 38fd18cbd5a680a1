"""Committed offsets of groups, and their reset.

GET  /groups/{group}/offsets          in pages
POST /groups/{group}/offsets/reset    to the earliest or latest offset, to a number, to a time
"""

from __future__ import annotations

from fastapi import APIRouter

from penstock.broker.groups.claim import NO_MEMBER
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.offsets.group_offsets import Table
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.broker.operations.offsets import OffsetOperations
from penstock.broker.operations.topics import TopicOperations
from penstock.broker.progress.position import is_position_text
from penstock.broker.records.offset_lookup import offset_or_end
from penstock.broker.records.worker import RecordWorker
from penstock.cluster.partition import OffsetSpec, Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH
from penstock.node.rest.documented import CONFLICT, NOT_FOUND
from penstock.node.rest.group_bodies import CommittedBody, MovedBody, OffsetsBody, ResetAnswer, ResetBody
from penstock.node.rest.groups import KnownGroups
from penstock.node.rest.paging import place_after, to_cursor
from penstock.node.rest.parameters import LIMIT, Asking, Cursor, GroupName, Limit, milliseconds
from penstock.node.rest.problems import invalid, not_found
from penstock.node.rest.topics import check_partition, existing_topic
from penstock.runtime.clock import Clock
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation
from penstock.security.session import Session

Place = tuple[str, int]


class OffsetRoutes:
    def __init__(
        self,
        known: KnownGroups,
        *,
        groups: GroupCoordinator,
        offsets: OffsetOperations,
        topics: TopicOperations,
        table: TopicTable,
        partitions: PartitionTable,
        worker: RecordWorker,
        clock: Clock,
    ) -> None:
        self._known = known
        self._groups = groups
        self._offsets = offsets
        self._topics = topics
        self._table = table
        self._partitions = partitions
        self._worker = worker
        self._clock = clock
        self.router = router = APIRouter(prefix="/groups/{group}/offsets", tags=["offsets"])
        router.get("", responses=NOT_FOUND)(self.list_offsets)
        router.post("/reset", responses=NOT_FOUND | CONFLICT)(self.reset_offsets)

    async def list_offsets(
        self, session: Asking, group: GroupName, limit: Limit = LIMIT, cursor: Cursor = None
    ) -> OffsetsBody:
        """Committed offsets that are on disk, by topic and partition."""
        self._known.get(session, group)
        after = place_after(cursor)
        committed = self._committed(session, group)
        places = sorted((topic, index) for topic, indexes in committed.items() for index in indexes)
        wanted = [place for place in places if after is None or place > after]
        bodies, turns = [], Turns()
        for topic, index in wanted[:limit]:
            bodies.append(self._body(group, topic, index, committed[topic][index]))
            await turns.pause()
        more = len(wanted) > limit
        return OffsetsBody(group=group, offsets=bodies, next_cursor=to_cursor(*wanted[limit - 1]) if more else None)

    def _committed(self, session: Session, group: str) -> Table:
        """Committed offsets of the group, in topics that the session may describe."""
        committed = self._offsets.committed(session, group)
        return {name: offsets for name, offsets in committed.items() if self._offsets.describable(session, name)}

    def _body(self, group: str, topic: str, index: int, found: CommittedOffset) -> CommittedBody:
        try:
            partition: Partition | None = self._partitions.get(topic, index)
        except KafkaError:
            partition = None
        start = None if partition is None else partition.log_start
        end = None if partition is None else partition.high_watermark
        return CommittedBody(
            topic=topic,
            partition=index,
            committed=found.offset,
            metadata="" if is_position_text(found.metadata) else found.metadata,
            commit_time=found.commit_ms,
            log_start=start,
            high_watermark=end,
            lag=None if start is None or end is None else max(0, end - max(found.offset, start)),
            pending=self._groups.is_pending(group, topic, index),
        )

    async def reset_offsets(self, session: Asking, group: GroupName, body: ResetBody) -> ResetAnswer:
        """Move committed offsets, durably. With `topics`, a missing group is created."""
        self._offsets.check_describe(session, group)  # first: that it has members is no news for others
        if self._known.subscriptions is not None:
            await self._known.subscriptions.settled(group)
        places = self._places(session, group, body)
        self._check_unused(group)
        committed = self._committed(session, group)
        moves, turns = [], Turns()
        for topic, index in places:
            before = committed.get(topic, {}).get(index)
            moves.append(await self._move(session, topic, index, None if before is None else before.offset, body))
            await turns.pause()
        if not body.dry_run:
            await self._commit(session, group, moves)
        return ResetAnswer(group=group, dry_run=body.dry_run, offsets=moves)

    def _places(self, session: Session, group: str, body: ResetBody) -> list[Place]:
        if body.topics is not None:
            return sorted(self._named(session, body))
        self._known.get(session, group)
        committed = self._committed(session, group)
        places = [(topic, index) for topic, indexes in committed.items() for index in indexes]
        if not places:
            raise not_found(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group[:249]} has no offsets: name topics")
        return sorted(place for place in places if self._exists(*place))

    def _named(self, session: Session, body: ResetBody) -> set[Place]:
        named: set[Place] = set()
        for wanted in body.topics or ():
            topic = existing_topic(self._topics, session, wanted.topic)
            indexes = range(topic.partition_count) if wanted.partitions is None else wanted.partitions
            for index in indexes:
                check_partition(topic, index)
                if (topic.name, index) in named:
                    raise invalid(f"partition {index} of {topic.name} is named twice; name it once")
                named.add((topic.name, index))
        return named

    def _exists(self, topic: str, index: int) -> bool:
        found = self._table.get(topic)
        return found is not None and index < found.partition_count

    def _check_unused(self, group: str) -> None:
        """The checks of the commit, so that a dry run reports them, too."""
        try:
            self._groups.check_commit(group, NO_MEMBER)
        except KafkaError as error:
            raise _in_use(group, error) from error

    async def _move(self, session: Session, topic: str, index: int, before: int | None, body: ResetBody) -> MovedBody:
        partition = self._partitions.get(topic, index)
        if partition.failed:
            raise KafkaError(partition.failure)
        wanted = await self._target(session, partition, body)
        start, end = partition.log_start, partition.high_watermark
        after = min(max(wanted, start), end)
        remark = None
        if after != wanted:
            remark = (
                f"there is no offset {wanted}, only {start} to {end}: the {'end' if wanted > end else 'start'} is taken"
            )
        return MovedBody(topic=topic, partition=index, before=before, after=after, remark=remark)

    async def _target(self, session: Session, partition: Partition, body: ResetBody) -> int:
        if body.to == "earliest":
            wanted: OffsetSpec | int = OffsetSpec.EARLIEST
        elif body.offset is not None:
            return body.offset
        else:
            wanted = OffsetSpec.LATEST if body.time is None else milliseconds(body.time)
        return await offset_or_end(partition, wanted, self._worker, committed_only=False, owner=session.user)

    async def _commit(self, session: Session, group: str, moves: list[MovedBody]) -> None:
        now_ms, changes = self._clock.now_ms(), []
        for move in moves:
            topic = existing_topic(self._topics, session, move.topic, Operation.READ)
            offset = CommittedOffset(move.after, NO_EPOCH, "", now_ms, topic_id=topic.topic_id)
            changes.append(OffsetChange(move.topic, move.partition, offset))
        await self._groups.prepare()
        try:
            await self._offsets.commit(session, group, NO_MEMBER, changes)
        except KafkaError as error:
            raise _in_use(group, error) from error


def _in_use(group: str, error: KafkaError) -> KafkaError:
    """Refuse a group with members: a commit without a member id is refused as that of an unknown member."""
    if error.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS):
        return KafkaError(ErrorCode.NON_EMPTY_GROUP, f"group {group[:249]} has members; stop its consumers first")
    return error
