"""The group coordinator of this node: what handlers ask it, one method for each kind of request.

A request finds its group's shard, asks the state machine, and waits for what must be on disk before it is answered.
Failures are KafkaErrors; where their code goes in an answer differs by API and version and is up to the handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from penstock.broker.groups.exchange import GroupRecord, JoinAnswer, JoinRequest, SyncAnswer
from penstock.broker.groups.group import Group, Holder, Identity
from penstock.broker.groups.offsets import OffsetChange, Table
from penstock.broker.groups.records import KEY_STRING_BYTES_MAX, GroupValue
from penstock.broker.groups.shard import Shard, offset_write_error
from penstock.broker.groups.shards import Shards
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import Settings
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.observability.exposition import LagSample
from penstock.runtime.clock import Clock

_NOTHING: Table = {}
NAME_BYTES_MAX = KEY_STRING_BYTES_MAX - 64  # a member id is a name and a UUID


class GroupCoordinator:
    """All groups of the node."""

    def __init__(
        self,
        *,
        settings: Settings,
        partitions: PartitionTable,
        topics: TopicTable,
        controller: Controller,
        clock: Clock,
    ) -> None:
        self._settings = settings.groups
        self._partitions = partitions
        self.shards = Shards(
            settings=settings.groups, partitions=partitions, topics=topics, controller=controller, clock=clock
        )

    async def start(self) -> None:
        """Begin to serve. Loading goes on in the background; `loaded` waits for it."""
        await self.shards.start()

    async def loaded(self) -> None:
        await self.shards.loaded()

    async def stop(self) -> None:
        """Everybody who waits is told to look for the coordinator again; the groups themselves live on in the log."""
        await self.shards.stop()

    async def prepare(self) -> None:
        """Make sure that groups can live here: FindCoordinator is about to promise it."""
        await self.shards.prepare()

    # --- members -----------------------------------------------------------------------------------------------------

    async def join(self, group_id: str, request: JoinRequest) -> JoinAnswer:
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        shortest, longest = self._settings.session_timeout_min_ms, self._settings.session_timeout_max_ms
        if not shortest <= request.session_timeout_ms <= longest:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        _check_lengths(request)
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id)
        is_new = group is None
        if group is None:
            if request.member_id:
                return JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID, member_id=request.member_id)
            group = self.shards.create(shard, group_id)
        ticket: asyncio.Future[JoinAnswer] = asyncio.get_running_loop().create_future()
        effects = group.join(request, ticket, self.shards.now())
        if is_new and not effects.records:
            effects.records.append(GroupRecord(GroupValue("", 0, None, None, group.state_ms, ())))
        shard.apply(group, effects)
        return await ticket

    async def sync(
        self,
        group_id: str,
        who: Identity,
        generation: int,
        protocol: tuple[str | None, str | None],
        assignments: Mapping[str, bytes],
    ) -> SyncAnswer:
        shard, group = self._of_member(group_id)
        ticket: asyncio.Future[SyncAnswer] = asyncio.get_running_loop().create_future()
        shard.apply(group, group.sync(who, generation, protocol, assignments, ticket))
        return await ticket

    def heartbeat(self, group_id: str, who: Identity, generation: int) -> ErrorCode:
        _, group = self._of_member(group_id)
        return group.heartbeat(who, generation, self.shards.now())

    async def leave(self, group_id: str, leaving: Sequence[Identity]) -> list[ErrorCode]:
        shard, group = self._of_member(group_id)
        codes, effects = group.leave(leaving, self.shards.now())
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        shard.apply(group, effects, lambda: None if done.done() else done.set_result(None))
        await done
        return codes

    def _of_member(self, group_id: str) -> tuple[Shard, Group]:
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        found = self.shards.find(group_id)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return found

    # --- subscriptions -----------------------------------------------------------------------------------------------

    async def hold(self, group_id: str, holder: Holder) -> None:
        """A subscription takes a group; see `Group.hold`."""
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id) or self.shards.create(shard, group_id)
        group.hold(holder, self.shards.now())

    def release(self, group_id: str, holder: Holder) -> None:
        try:
            found = self.shards.find(group_id)
        except KafkaError:
            return  # the node stops, or the group's log has failed
        if found is not None:
            found[1].release(holder, self.shards.now())

    def commit_held(self, group_id: str, changes: list[OffsetChange], outcome: Callable[[ErrorCode], None]) -> None:
        """Store positions of a subscription; `outcome` is told when they are on disk. KafkaError if nobody can."""
        shard = self.shards.shard(group_id)
        if shard is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if group_id not in shard.groups:
            self.shards.create(shard, group_id)
        shard.change_offsets(group_id, changes, outcome)

    # --- offsets -----------------------------------------------------------------------------------------------------

    async def commit(
        self,
        group_id: str,
        who: Identity,
        generation: int,
        changes: list[OffsetChange],
        *,
        unknown_group: ErrorCode = ErrorCode.ILLEGAL_GENERATION,
    ) -> None:
        """Store offsets, for a member of the group or for a consumer that only keeps offsets here (generation -1).

        `unknown_group` is what a member of a group that we do not know is told.
        """
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id)
        if group is not None:
            group.check_commit(who, generation, self.shards.now())
        elif generation >= 0:
            raise KafkaError(unknown_group)
        if changes:
            if group is None:
                self.shards.create(shard, group_id)
            await self._written(shard, group_id, changes)

    async def commit_in_transaction(
        self,
        group_id: str,
        who: Identity,
        generation: int,
        changes: list[OffsetChange],
        producer: ProducerIdentity,
    ) -> None:
        """Store offsets that count when the producer's transaction commits."""
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id)
        if group is not None:
            group.check_pending_commit(who, generation, self.shards.now())
        elif generation >= 0:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        else:
            self.shards.create(shard, group_id)
        outcome = _Outcome()
        shard.add_pending(group_id, changes, producer, outcome.came)
        await outcome.wait()

    async def place_of(self, group_id: str) -> TopicPartition:
        return await self.shards.place_of(group_id)

    def end_transaction(self, partition: int, marker: Marker) -> None:
        self.shards.end_transaction(partition, marker)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change what a group has committed there."""
        shard = self.shards.shard(group_id)
        return shard is not None and shard.pending.is_pending(group_id, topic, partition)

    async def _written(self, shard: Shard, group_id: str, changes: list[OffsetChange]) -> None:
        outcome = _Outcome()
        shard.change_offsets(group_id, changes, outcome.came)
        await outcome.wait()

    def committed(self, group_id: str) -> Table:
        """What a group has committed and is on disk, by topic and partition; empty for a group we do not know."""
        shard = self.shards.shard(group_id)
        offsets = None if shard is None else shard.offsets.get(group_id)
        return _NOTHING if offsets is None else offsets.visible

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[tuple[str, int]]
    ) -> dict[tuple[str, int], ErrorCode]:
        """OffsetDelete: a code for each partition."""
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        found = self.shards.find(group_id)
        if found is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        shard, group = found
        group.check_delete_offsets()
        latest = shard.offsets[group_id].latest if group_id in shard.offsets else _NOTHING
        codes, removals = {}, []
        for topic, partition in partitions:
            is_read = group.reads(topic)
            codes[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_read else ErrorCode.NONE
            is_stored = partition in latest.get(topic, {}) or shard.pending.is_pending(group_id, topic, partition)
            if not is_read and is_stored:
                removals.append(OffsetChange(topic, partition, None))
        if removals:
            await self._written(shard, group_id, removals)
        return codes

    # --- groups ------------------------------------------------------------------------------------------------------

    def find(self, group_id: str) -> Group | None:
        found = self.shards.find(group_id)
        return None if found is None else found[1]

    def all_groups(self) -> Iterator[Group]:
        """Every group; KafkaError COORDINATOR_LOAD_IN_PROGRESS until all are known."""
        self.shards.check_loaded()
        return (group for shard in self.shards for group in tuple(shard.groups.values()))

    async def delete_group(self, group_id: str) -> None:
        found = self.shards.find(group_id)
        if found is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        shard, group = found
        group.check_delete()
        outcome = _Outcome()
        shard.delete(group, outcome.came)
        await outcome.wait()

    def lags_of(self, group_id: str) -> list[LagSample]:
        """How far one group is behind, in the partitions that exist."""
        return self._lags_of(group_id, self.committed(group_id))

    def lags(self) -> Iterator[LagSample]:
        """How far every group is behind. Others may run between two samples."""
        for shard in self.shards:
            for group_id in tuple(shard.offsets):
                offsets = shard.offsets.get(group_id)
                if offsets is not None:
                    yield from self._lags_of(group_id, offsets.visible)

    def _lags_of(self, group_id: str, visible: Table) -> list[LagSample]:
        samples = []
        for topic, partitions in visible.items():
            for index, committed in partitions.items():
                try:
                    partition = self._partitions.get(topic, index)
                    lag = max(0, partition.high_watermark - max(committed.offset, partition.log_start))
                except KafkaError:
                    continue  # its topic is gone, or its log
                samples.append(LagSample(group_id, topic, index, committed.offset, lag))
        return samples


def _check_lengths(request: JoinRequest) -> None:
    """Everything that a record writes with an int16 length must fit; newer versions of JoinGroup allow more."""
    names = [request.client_id, request.instance_id or "", request.protocol_type]
    names += [name for name, _ in request.protocols]
    if any(len(name.encode()) > NAME_BYTES_MAX for name in names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a name has more than {NAME_BYTES_MAX} bytes")


class _Outcome:
    """Waits for a write."""

    __slots__ = ("_code", "_future")

    def __init__(self) -> None:
        self._code: ErrorCode | None = None
        self._future: asyncio.Future[None] | None = None

    def came(self, code: ErrorCode) -> None:
        self._code = code
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        if self._code is None:
            self._future = asyncio.get_running_loop().create_future()
            await self._future
        code = offset_write_error(self._code or ErrorCode.NONE)
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
