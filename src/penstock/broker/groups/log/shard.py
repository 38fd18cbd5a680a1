"""One partition of `__consumer_offsets` and the groups that live in it.

The shard acts for its groups: it owns their state in memory, stores their effects as one batch each, delivers replies,
and feeds the outcome back (`broker.groups.effects`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from penstock.broker.coordination.coordinator_log import CoordinatorLog, Outcome
from penstock.broker.groups.effects import Effects, Now, Refused, Reply, Stored
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.offsets.offset_table import OffsetTable
from penstock.broker.groups.offsets.records import OffsetChange, offset_records, removals
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.cluster.partition import Partition
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode
from penstock.observability.repeats import NAME_LENGTH_MAX, Repeats


class Shard(CoordinatorLog):
    """Groups and offsets of one partition.

    `deliver` brings a reply to its request; `changed` is called with a group whose deadlines may have changed; `lines`
    are those of all groups in the broker's log.
    """

    def __init__(
        self,
        partition: Partition,
        *,
        now: Callable[[], Now],
        deliver: Callable[[Reply], None],
        changed: Callable[[CoordinatedGroup], None],
        lines: Repeats,
    ) -> None:
        super().__init__(partition)
        self.groups: dict[str, CoordinatedGroup] = {}
        self.offsets = OffsetTable()
        self._being_deleted: set[str] = set()
        self.ended_meanwhile: list[Marker] = []
        """Markers that were appended while the log was being loaded, perhaps beyond the part that is read."""
        self._now = now
        self._deliver = deliver
        self._changed = changed
        self._lines = lines

    def report(self, group_id: str, text: str) -> None:
        """Log what happened to a group; members may cause it as often as they like."""
        self._lines.info(group_id, "group %s: %s", group_id[:NAME_LENGTH_MAX], text)

    # --- groups ------------------------------------------------------------------------------------------------------

    def apply(self, group: CoordinatedGroup, effects: Effects) -> None:
        """Store records and offsets in one batch; then deliver the replies, and let the group go on."""
        self._changed(group)
        if not effects.records and not effects.offsets:
            for reply in effects.replies:
                self._deliver(reply)
            return
        self._change(group.group_id, effects.offsets, effects.records, lambda code: self._applied(group, effects, code))

    def _applied(self, group: CoordinatedGroup, effects: Effects, code: ErrorCode) -> None:
        for reply in effects.replies:
            self._deliver(reply)
        if code is ErrorCode.NONE and effects.summary:
            self.report(group.group_id, effects.summary)
        for event in effects.then:
            outcome = Stored(event) if code is ErrorCode.NONE else Refused(event, group_write_error(code))
            self.apply(group, group.resume(outcome, self._now()))

    def delete(self, group: CoordinatedGroup, outcome: Outcome) -> None:
        """Write tombstones for all its offsets and for the group, which is gone as soon as they are in the log.

        They are one batch: a group with many offsets first loses all but a portion of them (`log.removal`).
        """

        def appended(_: int) -> None:
            del self.groups[group.group_id]
            group.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE)

        lost = removals(self.offsets.places(group.group_id))
        self._change(group.group_id, lost, group.tombstones(), outcome, appended)

    @contextmanager
    def deleting(self, group_id: str) -> Iterator[None]:
        """Refuse commits and members of the group meanwhile, as Kafka does for a group that is Dead."""
        self._being_deleted.add(group_id)
        try:
            yield
        finally:
            self._being_deleted.discard(group_id)

    def is_being_deleted(self, group_id: str) -> bool:
        return group_id in self._being_deleted

    def forget_all(self) -> None:
        """Answer all requests that wait in groups, and forget the groups and their offsets."""
        for group in self.groups.values():
            for reply in group.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE):
                self._deliver(reply)
        self.groups.clear()
        self.offsets.clear()

    # --- offsets -----------------------------------------------------------------------------------------------------

    def change_offsets(self, group_id: str, changes: list[OffsetChange], outcome: Outcome) -> None:
        """Commit or remove offsets; they are visible when `outcome` is called."""
        self._change(group_id, changes, (), outcome)

    def _change(
        self,
        group_id: str,
        changes: list[OffsetChange],
        records: Sequence[NewRecord],
        outcome: Outcome,
        also_appended: Callable[[int], None] | None = None,
    ) -> None:
        """Write offsets and records of a group as one batch: all of them count, or none."""
        table = self.offsets

        def appended(last_offset: int) -> None:
            table.appended(group_id, changes, last_offset)
            if also_appended is not None:
                also_appended(last_offset)

        def written(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                table.flushed(group_id, changes)
            outcome(code)

        if not changes:
            self._write(records, outcome, also_appended)
            return
        batch = offset_records(group_id, changes)
        batch += records
        self._write(batch, written, appended)

    def add_pending(
        self, group_id: str, changes: list[OffsetChange], producer: ProducerIdentity, outcome: Outcome
    ) -> None:
        """Store offsets that count when the producer's transaction commits."""

        def appended(last_offset: int) -> None:
            self.offsets.add_pending(group_id, changes, producer.producer_id, last_offset)

        self._write(offset_records(group_id, changes), outcome, appended, producer)

    # --- the log -----------------------------------------------------------------------------------------------------

    def _write(
        self,
        records: Sequence[NewRecord],
        outcome: Outcome,
        appended: Callable[[int], None] | None = None,
        producer: ProducerIdentity | None = None,
    ) -> None:
        """Append one batch, as `append_batch` does; in a producer's transaction if one is given."""
        wall_ms = self._now().wall_ms
        producer_id, epoch = (-1, -1) if producer is None else producer
        batch = build_batch(
            records,
            timestamp=wall_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            transactional=producer is not None,
        )
        self.append_batch(batch, wall_ms, outcome, appended)


def group_write_error(code: ErrorCode) -> ErrorCode:
    """The error for a member whose group could not be stored; as Kafka maps it, except for a failed disk."""
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def offset_write_error(code: ErrorCode) -> ErrorCode:
    """The error for an offset commit that could not be stored."""
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return ErrorCode.NONE if code is ErrorCode.NONE else ErrorCode.COORDINATOR_NOT_AVAILABLE
