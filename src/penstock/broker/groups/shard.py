"""One partition of `__consumer_offsets` and the groups that live in it.

The shard owns their state in memory and appends their records (`broker.coordination.coordinator_log`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from penstock.broker.coordination.coordinator_log import CoordinatorLog, Outcome
from penstock.broker.groups import records
from penstock.broker.groups.exchange import Delivery, Effects, GroupRecord, Now
from penstock.broker.groups.group import Group
from penstock.broker.groups.offsets import GroupOffsets, OffsetChange
from penstock.broker.groups.pending_offsets import PendingOffset, PendingOffsets
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.cluster.partition import Partition
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode

log = logging.getLogger(__name__)

Clockwork = Callable[[], Now]


class Shard(CoordinatorLog):
    """Groups and offsets of one partition. `deliver` brings an answer to its ticket."""

    def __init__(
        self,
        partition: Partition,
        *,
        now: Clockwork,
        deliver: Callable[[Delivery], None],
        changed: Callable[[Group], None],
    ) -> None:
        super().__init__(partition)
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        self.pending = PendingOffsets()
        self.ended_meanwhile: list[Marker] = []
        """Markers that came to the log while it was being loaded, perhaps behind what is read of it."""
        self._now = now
        self._deliver = deliver
        self._changed = changed

    # --- the log -----------------------------------------------------------------------------------------------------

    def write(
        self,
        new_records: Sequence[NewRecord],
        outcome: Outcome,
        appended: Callable[[int], None] | None = None,
        producer: ProducerIdentity | None = None,
    ) -> None:
        """Append one batch, as `append_batch` does; of a producer's transaction if that is given."""
        wall_ms = self._now().wall_ms
        producer_id, epoch = (-1, -1) if producer is None else producer
        batch = build_batch(
            new_records,
            timestamp=wall_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            transactional=producer is not None,
        )
        self.append_batch(batch, wall_ms, outcome, appended)

    def forget_all(self) -> None:
        self.pending.clear()
        self.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def abandon(self, code: ErrorCode) -> None:
        """Answer everybody who waits in a group, and forget the groups."""
        for group in self.groups.values():
            for delivery in group.abandon(code):
                self._deliver(delivery)
        self.groups.clear()
        self.offsets.clear()

    # --- groups ------------------------------------------------------------------------------------------------------

    def apply(self, group: Group, effects: Effects, done: Callable[[], None] | None = None) -> None:
        """Deliver answers and call `done`, after the records that belong to them are on disk."""
        self._changed(group)
        if not effects.records:
            self._finish(effects.deliveries, done)
        for index, record in enumerate(effects.records):
            is_last = index == len(effects.records) - 1
            self._store(group, record, effects.deliveries if is_last else [], done if is_last else None)

    def _finish(self, deliveries: list[Delivery], done: Callable[[], None] | None) -> None:
        for delivery in deliveries:
            self._deliver(delivery)
        if done is not None:
            done()

    def _store(
        self, group: Group, record: GroupRecord, deliveries: list[Delivery], done: Callable[[], None] | None
    ) -> None:
        def outcome(code: ErrorCode) -> None:
            self._finish(deliveries, done)
            if code is ErrorCode.NONE:
                generation, members = record.value.generation, len(record.value.members)
                log.info("group %s: generation %d with %d members", group.group_id, generation, members)
                if record.stored is not None:
                    self.apply(group, record.stored(self._now()))
            elif record.refused is not None:
                self.apply(group, record.refused(group_write_error(code), self._now()))

        self.write([NewRecord(records.group_key(group.group_id), records.encode_group(record.value))], outcome)

    def delete(self, group: Group, outcome: Outcome) -> None:
        """Tombstones for the group and for all its offsets."""
        removals = self.removals(group.group_id)
        tombstone = NewRecord(records.group_key(group.group_id), None)

        def appended(_: int) -> None:
            del self.groups[group.group_id]
            group.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE)

        self.change_offsets(group.group_id, removals, outcome, (tombstone,), appended)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def removals(self, group_id: str, topic: str | None = None) -> list[OffsetChange]:
        """What removes everything of a group, or everything of one topic, with what is pending in transactions."""
        offsets = self.offsets.get(group_id)
        places = dict.fromkeys(() if offsets is None else offsets.places(topic))
        places.update((place, None) for place in self.pending.places(group_id) if topic in (None, place[0]))
        return [OffsetChange(name, index, None) for name, index in places]

    def change_offsets(
        self,
        group_id: str,
        changes: list[OffsetChange],
        outcome: Outcome,
        further: Iterable[NewRecord] = (),
        also_appended: Callable[[int], None] | None = None,
    ) -> None:
        """Commit or remove offsets; they are visible when `outcome` is called."""
        offsets = self.offsets.get(group_id)
        if offsets is None:
            offsets = self.offsets[group_id] = GroupOffsets()
        table = offsets

        def appended(last_offset: int) -> None:
            table.appended(changes)
            self.pending.overtaken(group_id, changes, last_offset)
            if also_appended is not None:
                also_appended(last_offset)

        def written(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                table.flushed(changes)
            if table.is_gone:
                self.offsets.pop(group_id, None)
            outcome(code)

        self.write([*offset_records(group_id, changes), *further], written, appended)

    def add_pending(
        self, group_id: str, changes: list[OffsetChange], producer: ProducerIdentity, outcome: Outcome
    ) -> None:
        """Offsets that count when the producer's transaction commits."""

        def appended(last_offset: int) -> None:
            for change in changes:
                self.pending.add(producer.producer_id, PendingOffset(last_offset, group_id, change))

        self.write(offset_records(group_id, changes), outcome, appended, producer)

    def end_pending(self, marker: Marker) -> None:
        """A producer's transaction has ended here, and that is on disk."""
        for group_id, changes in self.pending.end(marker.producer_id, commit=marker.is_commit).items():
            offsets = self.offsets.setdefault(group_id, GroupOffsets())
            for change in changes:
                offsets.load(change)


def offset_records(group_id: str, changes: Iterable[OffsetChange]) -> list[NewRecord]:
    prefixes: dict[str, bytes] = {}
    result = []
    for topic, partition, committed in changes:
        prefix = prefixes.get(topic)
        if prefix is None:
            prefix = prefixes[topic] = records.offset_key_prefix(group_id, topic)
        value = None if committed is None else records.encode_offset(committed)
        result.append(NewRecord(records.offset_key(prefix, partition), value))
    return result


def group_write_error(code: ErrorCode) -> ErrorCode:
    """What a member is told when its group could not be stored; as Kafka maps it, but for a failed disk."""
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def offset_write_error(code: ErrorCode) -> ErrorCode:
    """The same for an offset commit."""
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return ErrorCode.NONE if code is ErrorCode.NONE else ErrorCode.COORDINATOR_NOT_AVAILABLE
