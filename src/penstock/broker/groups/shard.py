"""One partition of `__consumer_offsets` and the groups that live in it.

The shard owns their state in memory, appends their records, and says when a record is on disk. What it does not do is
wait: whoever writes gives a function that is called with the outcome, in the order of the log.

If an append is refused nothing was written, and the writer is told. If a flush fails the log is offline for good and
what is in memory may be more than what is on disk: everything is dropped and everybody who waits is told
COORDINATOR_NOT_AVAILABLE, as is everyone who comes later; a restart recovers.
"""

from __future__ import annotations

import enum
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from penstock.broker.groups import records
from penstock.broker.groups.exchange import Delivery, Effects, GroupRecord, Now
from penstock.broker.groups.group import Group
from penstock.broker.groups.offsets import GroupOffsets, OffsetChange
from penstock.cluster.partition import Partition
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

Outcome = Callable[[ErrorCode], None]
Clockwork = Callable[[], Now]


class ShardState(enum.Enum):
    LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ACTIVE = ErrorCode.NONE
    FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


class Shard:
    """Groups and offsets of one partition. `deliver` brings an answer to its ticket."""

    def __init__(
        self,
        partition: Partition,
        *,
        now: Clockwork,
        deliver: Callable[[Delivery], None],
        changed: Callable[[Group], None],
    ) -> None:
        self.partition = partition
        self.state = ShardState.LOADING
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        self._now = now
        self._deliver = deliver
        self._changed = changed
        self._unflushed: deque[tuple[int, Outcome]] = deque()

    def check(self) -> None:
        """Raise unless requests can be served."""
        if self.state is not ShardState.ACTIVE:
            raise KafkaError(self.state.value)

    # --- the log -----------------------------------------------------------------------------------------------------

    def write(
        self, new_records: Sequence[NewRecord], outcome: Outcome, appended: Callable[[], None] | None = None
    ) -> None:
        """Append one batch; `outcome` is called once it is on disk, or with why it will never be.

        `appended` is called in between, only if the batch was taken.
        """
        wall_ms = self._now().wall_ms
        batch = build_batch(new_records, timestamp=wall_ms)
        try:
            last_offset = self.partition.append_trusted(batch, read_header(batch), wall_ms).last_offset
        except KafkaError as error:
            if self.partition.failed:
                self.fail()
            log.warning("%s-%d refused %d bytes: %r", self.partition.topic, self.partition.index, len(batch), error)
            outcome(error.code)
            return
        if appended is not None:
            appended()
        self._unflushed.append((last_offset, outcome))
        if self.partition.when_flushed(last_offset, self._flushed):
            self._flushed()

    def _flushed(self) -> None:
        if self.partition.failed:
            self.fail()
            return
        end = self.partition.high_watermark
        while self._unflushed and self._unflushed[0][0] < end:
            self._unflushed.popleft()[1](ErrorCode.NONE)

    def fail(self) -> None:
        """Forget everything: the log has failed, or its topic is gone."""
        if self.state is not ShardState.FAILED:
            self.state = ShardState.FAILED
            log.error("%s-%d failed, its groups are unavailable", self.partition.topic, self.partition.index)
            self.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        while self._unflushed:
            self._unflushed.popleft()[1](ErrorCode.COORDINATOR_NOT_AVAILABLE)

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
        offsets = self.offsets.get(group.group_id)
        removals = [] if offsets is None else offsets.removals()
        tombstone = NewRecord(records.group_key(group.group_id), None)

        def appended() -> None:
            del self.groups[group.group_id]
            group.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE)

        self.change_offsets(group.group_id, removals, outcome, (tombstone,), appended)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def change_offsets(
        self,
        group_id: str,
        changes: list[OffsetChange],
        outcome: Outcome,
        further: Iterable[NewRecord] = (),
        also_appended: Callable[[], None] | None = None,
    ) -> None:
        """Commit or remove offsets; they are visible when `outcome` is called."""
        offsets = self.offsets.get(group_id)
        if offsets is None:
            offsets = self.offsets[group_id] = GroupOffsets()
        table = offsets

        def appended() -> None:
            table.appended(changes)
            if also_appended is not None:
                also_appended()

        def written(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                table.flushed(changes)
            if table.is_gone:
                self.offsets.pop(group_id, None)
            outcome(code)

        self.write([*offset_records(group_id, changes), *further], written, appended)


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
