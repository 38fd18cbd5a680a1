"""The group coordinator of this node: the requests that concern groups of every type.

Offsets, deletion, listing and holding are here; the requests of members belong to the protocol of their group
(`broker.groups.classic_requests`). A request finds its group's shard, asks the group through its interface
(`broker.groups.group`), and waits for the records that must be on disk before it is answered. Failures are KafkaErrors;
where their code goes in an answer differs by API and version and is up to the handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from sys import getsizeof

from penstock.broker.groups.claim import CommitClaim
from penstock.broker.groups.classic_requests import ClassicRequests
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.held import HeldGroup, Holder, hold
from penstock.broker.groups.lag import all_lags, group_lag
from penstock.broker.groups.log.expiry import IsExempt
from penstock.broker.groups.log.removal import first_portion, portions
from penstock.broker.groups.log.shard import Shard, offset_write_error
from penstock.broker.groups.log.shards import Shards
from penstock.broker.groups.memory import GroupMemory
from penstock.broker.groups.offsets.group_offsets import Table
from penstock.broker.groups.offsets.records import OffsetChange, removals
from penstock.broker.groups.offsets.texts import CommittedTexts
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
from penstock.runtime.turns import Turns

_NOTHING: Table = {}


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
        self._partitions = partitions
        self.memory = GroupMemory(settings.limits.group_metadata_bytes_max)
        self.shards = Shards(
            settings=settings.groups,
            memory=self.memory,
            partitions=partitions,
            topics=topics,
            controller=controller,
            clock=clock,
        )
        self.classic = ClassicRequests(self.shards, settings.groups)
        self._texts = CommittedTexts(self._text_bytes, clock.monotonic_ms)

    async def start(self) -> None:
        """Begin to serve. Loading goes on in the background; `loaded` waits for it."""
        await self.shards.start()

    async def loaded(self) -> None:
        await self.shards.loaded()

    async def stop(self) -> None:
        """Answer all waiting requests, so that clients look for the coordinator again; groups live on in the log."""
        await self.shards.stop()

    async def prepare(self) -> None:
        """Make sure that groups can live here: FindCoordinator is about to promise it."""
        await self.shards.prepare()

    # --- push subscriptions ------------------------------------------------------------------------------------------

    async def hold(self, group_id: str, holder: Holder) -> None:
        """Let a subscription hold a group. INCONSISTENT_GROUP_PROTOCOL if the group has members of its own."""
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id) or self.shards.create(shard, group_id)
        shard.groups[group_id] = hold(group, holder)

    def release(self, group_id: str, holder: Holder) -> None:
        """End the hold of a subscription that has no members any more."""
        try:
            found = self.shards.find(group_id)
        except KafkaError:
            return  # the node stops, or the group's log has failed
        if found is not None:
            shard, group = found
            if isinstance(group, HeldGroup) and group.holder is holder:
                shard.groups[group_id] = group.release(self.shards.now())

    def commit_held(self, group_id: str, changes: list[OffsetChange], outcome: Callable[[ErrorCode], None]) -> None:
        """Store positions of a subscription; `outcome` is called when they are on disk.

        KafkaError if the group's shard cannot serve.
        """
        shard = self.shards.writable(group_id)
        if group_id not in shard.groups:
            self.shards.create(shard, group_id)
        shard.change_offsets(group_id, changes, outcome)

    def keep_offsets(self, is_exempt: IsExempt) -> None:
        """Let the offsets of the groups for which `is_exempt` is true never expire."""
        self.shards.expiry.exempt(is_exempt)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def check_commit(self, group_id: str, claim: CommitClaim) -> None:
        """Refuse a commit as `commit` would do; a group that does not exist refuses nothing."""
        group = self.find(group_id)
        if group is not None:
            group.check_commit(claim, self.shards.now())

    async def commit(self, group_id: str, claim: CommitClaim, changes: list[OffsetChange], text_bytes: int = 0) -> None:
        """Store offsets, for a member of the group or for a client that only keeps offsets here.

        `text_bytes` is the memory of the texts that come with them.
        """
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id)
        if group is not None:
            group.check_commit(claim, self.shards.now())
        elif claim.generation >= 0:
            raise KafkaError(claim.unknown_group)
        if changes:
            if text_bytes:
                self._take_texts(group_id, text_bytes)
            if group is None:
                self.shards.create(shard, group_id)
            await self._written(shard, group_id, changes)

    async def commit_in_transaction(
        self,
        group_id: str,
        claim: CommitClaim,
        changes: list[OffsetChange],
        producer: ProducerIdentity,
        text_bytes: int = 0,
    ) -> None:
        """Store offsets that count when the producer's transaction commits."""
        shard = await self.shards.to_write(group_id)
        group = shard.groups.get(group_id)
        if group is not None:
            group.check_commit(claim, self.shards.now())
        elif claim.generation >= 0:
            raise KafkaError(claim.unknown_group)
        if text_bytes:
            self._take_texts(group_id, text_bytes)
        if group is None:
            self.shards.create(shard, group_id)
        outcome = _Outcome()
        shard.add_pending(group_id, changes, producer, outcome.came)
        await outcome.wait()

    def _take_texts(self, group_id: str, text_bytes: int) -> None:
        if not self._texts.take(group_id, text_bytes):
            raise KafkaError(ErrorCode.OFFSET_METADATA_TOO_LARGE)

    def _text_bytes(self, group_id: str) -> int:
        """The memory of the texts that a group has committed."""
        try:
            shard = self.shards.shard(group_id)
        except KafkaError:
            return 0  # its log has failed, and nothing of it is in memory
        stored = () if shard is None else shard.offsets.stored(group_id)
        return sum(getsizeof(each.committed.metadata) for each in stored if each.committed.metadata)

    async def place_of(self, group_id: str) -> TopicPartition:
        """The partition that a transaction must include to commit offsets of this group."""
        return await self.shards.place_of(group_id)

    def end_transaction(self, partition: int, marker: Marker) -> None:
        """Apply a transaction marker that is on disk in a partition of `__consumer_offsets`."""
        self.shards.end_transaction(partition, marker)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change the offset that a group has committed there."""
        shard = self.shards.shard(group_id)
        return shard is not None and shard.offsets.pending.is_pending(group_id, topic, partition)

    async def _written(self, shard: Shard, group_id: str, changes: list[OffsetChange]) -> None:
        outcome = _Outcome()
        shard.change_offsets(group_id, changes, outcome.came)
        await outcome.wait()

    def committed(self, group_id: str) -> Table:
        """The committed offsets of a group that are on disk, by topic and partition; empty for an unknown group."""
        shard = self.shards.shard(group_id)
        return _NOTHING if shard is None else shard.offsets.visible(group_id)

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[tuple[str, int]]
    ) -> dict[tuple[str, int], ErrorCode]:
        """OffsetDelete: a code for each partition."""
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        self._existing(group_id)[1].check_delete_offsets()
        codes, turns = {}, Turns()
        for some in portions(group_id, tuple(dict.fromkeys(partitions))):
            shard, group = self._existing(group_id)
            kept = {topic for topic, _ in some if group.reads(topic)}
            for place in some:
                codes[place] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if place[0] in kept else ErrorCode.NONE
            lost = [place for place in some if place[0] not in kept and shard.offsets.is_stored(group_id, *place)]
            if lost:
                await self._written(shard, group_id, removals(lost))
            await turns.pause()
        return codes

    # --- groups ------------------------------------------------------------------------------------------------------

    def is_known(self, group_id: str) -> bool:
        return self.shards.find(group_id) is not None

    def find(self, group_id: str) -> CoordinatedGroup | None:
        found = self.shards.find(group_id)
        return None if found is None else found[1]

    def all_groups(self) -> Iterator[CoordinatedGroup]:
        """Every group; KafkaError COORDINATOR_LOAD_IN_PROGRESS until all are known."""
        self.shards.check_loaded()
        return (group for shard in self.shards for group in tuple(shard.groups.values()))

    async def delete_group(self, group_id: str) -> None:
        """Delete a group without members, and its offsets: they go in portions, and the group with the last of them."""
        shard, group = self._existing(group_id)
        group.check_delete()
        turns = Turns()
        with shard.deleting(group_id):
            while (portion := first_portion(shard, group_id)) is not None:
                await self._written(shard, group_id, portion)
                await turns.pause()
                shard.check()
        outcome = _Outcome()
        shard.delete(group, outcome.came)
        await outcome.wait()

    def _existing(self, group_id: str) -> tuple[Shard, CoordinatedGroup]:
        found = self.shards.find(group_id)
        if found is None or found[0].is_being_deleted(group_id):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        return found

    def lags_of(self, group_id: str) -> Iterator[LagSample]:
        """How far one group is behind, in the partitions that exist. Other work may run between two samples."""
        return group_lag(self._partitions, group_id, self.committed(group_id))

    def lags(self) -> Iterator[LagSample]:
        """How far every group is behind. Other work may run between two samples."""
        return all_lags(self._partitions, self.shards)


class _Outcome:
    """A write that a request waits for; a future is only made if the write is not complete at once."""

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
