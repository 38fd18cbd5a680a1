"""Progress in one partition: the offsets in flight with their holders, deadlines and delivery counts, and those done.

    committed ≤ every unfinished offset < next_offset
    done      everything below next_offset that is not unfinished, and the ranges that were stored as done above it

An unfinished offset is *acquired* by a holder until a deadline, or *available*: it waits for its next holder. The
committed position is the lowest offset that is not done. Offsets that do not exist (compaction, markers, aborted
transactions) and expired messages are done as soon as `next_offset` has passed them.

A cursor knows offsets, holders and times. Messages, credit, the clock and the order among holders are not its concern:
they belong to the part that deals (`dispatch` for push members).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic

from penstock.broker.progress.acquisition import Acquisition, AcquisitionQueue, Holder
from penstock.broker.progress.position import COUNTED_MAX, Counted, Position, Range
from penstock.broker.progress.stored_ahead import StoredAhead


class PartitionCursor(Generic[Holder]):
    """One partition of one subscription.

    `changed` collects the partitions whose position differs from the stored one, in the order in which that began; the
    owner of the cursors empties it.
    `resets` rises whenever delivery starts again elsewhere: everything that was read ahead is void then.
    """

    __slots__ = (
        "_acquired", "_changed", "_has_counts", "_unfinished", "ahead", "done_range_count", "next_offset", "partition",
        "resets",
    )  # fmt: skip

    def __init__(self, partition: int, position: Position, changed: dict[int, None]) -> None:
        self.partition = partition
        self.resets = 0
        self._changed = changed
        self._start_at(position)

    def _start_at(self, position: Position) -> None:
        self.next_offset = position.offset
        self.ahead = StoredAhead(position)
        self.done_range_count = len(position.done)
        # Whether some unfinished message may have a delivery count that has to be stored.
        self._has_counts = bool(position.counted)
        # In the order of offsets: each is added when it is first reached and keeps its place until it is done.
        self._unfinished: dict[int, Acquisition[Holder]] = {}
        self._acquired: AcquisitionQueue[Holder] = AcquisitionQueue()

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def committed(self) -> int:
        return next(iter(self._unfinished), self.next_offset)

    def get(self, offset: int) -> Acquisition[Holder] | None:
        """The state of an unfinished offset; None if it is done or not reached yet."""
        return self._unfinished.get(offset)

    def is_available(self, offset: int) -> bool:
        """Whether an offset waits for its next holder."""
        found = self._unfinished.get(offset)
        return found is not None and found.holder is None

    def held_among(self, holder: Holder, offsets: Iterable[int]) -> list[int]:
        """Those of some unfinished offsets that a holder has."""
        unfinished = self._unfinished
        return [offset for offset in offsets if unfinished[offset].holder is holder]

    def held_by(self, holder: Holder) -> list[Acquisition[Holder]]:
        return self._acquired.held_by(holder)

    def holds_below(self, holder: Holder, end: int) -> bool:
        return any(one.holder is holder for offset, one in self._unfinished.items() if offset < end)

    def unanswered(self, acquisition: Acquisition[Holder]) -> list[int]:
        """The offsets of an acquisition that are still its own."""
        return [offset for offset in acquisition.offsets if self._unfinished.get(offset) is acquisition]

    @property
    def unfinished_count(self) -> int:
        return len(self._unfinished)

    def unfinished(self) -> list[int]:
        """All unfinished offsets, in their order."""
        return list(self._unfinished)

    def within(self, first: int, last: int) -> list[int]:
        """The unfinished offsets of a range, both ends included, however long that is."""
        unfinished = self._unfinished
        if first == last:
            return [first] if first in unfinished else []
        if last - first < len(unfinished):
            return [offset for offset in range(first, last + 1) if offset in unfinished]
        return [offset for offset in unfinished if first <= offset <= last]

    # --- moving forward ----------------------------------------------------------------------------------------------

    def skip_to(self, offset: int) -> None:
        """Leave nothing below `offset` for a first delivery: those offsets were examined, or do not exist."""
        if offset > self.next_offset:
            self._advance(offset)
            self._changed[self.partition] = None

    def _advance(self, offset: int) -> None:
        if offset > self.next_offset:
            self.next_offset = offset
        ahead = self.ahead
        if ahead.done or ahead.counted:
            ahead.trim(self.next_offset)

    # --- acquiring ---------------------------------------------------------------------------------------------------

    def acquire(self, offsets: list[int], holder: Holder, deadline_ms: int) -> None:
        """Give new messages to one holder for their first delivery; `next_offset` moves behind them."""
        acquisition = Acquisition(holder, (), offsets, 1, deadline_ms)
        self._acquired.append(acquisition)
        self._unfinished.update(dict.fromkeys(offsets, acquisition))
        self._advance(offsets[-1] + 1)

    def acquire_shared(self, offsets: Sequence[int], shares: Mapping[Holder, list[int]], deadline_ms: int) -> None:
        """Give new messages to several holders, each to one of them, for their first delivery."""
        by_offset: dict[int, Acquisition[Holder]] = {}
        for holder, share in shares.items():
            acquisition = Acquisition(holder, (), share, 1, deadline_ms)
            self._acquired.append(acquisition)
            by_offset.update(dict.fromkeys(share, acquisition))
        unfinished = self._unfinished
        for offset in offsets:
            unfinished[offset] = by_offset[offset]
        self._advance(offsets[-1] + 1)

    def first_delivery(self, offset: int) -> Acquisition[Holder]:
        """A new message without a holder yet. Deliveries before a restart count; whether they were lost or given back
        is no longer known.
        """
        count = self.ahead.count(offset)
        return Acquisition(None, (), [offset], count, 0, count)

    def acquire_one(self, offset: int, before: Acquisition[Holder], holder: Holder, deadline_ms: int) -> int:
        """Give one message, new or available, to a holder. Returns the delivery count."""
        count = before.count + 1
        acquisition = Acquisition(holder, before.previous, [offset], count, deadline_ms, before.losses)
        self._acquired.append(acquisition)
        self._unfinished[offset] = acquisition
        if offset >= self.next_offset:
            self._advance(offset + 1)
        if count > 1:
            self._has_counts = True
            self._changed[self.partition] = None
        return count

    def keep_available(self, offset: int, message: Acquisition[Holder]) -> None:
        """Let a message wait for a holder; `next_offset` passes it if it is new."""
        self._unfinished[offset] = message
        if offset >= self.next_offset:
            self._advance(offset + 1)

    # --- ending ------------------------------------------------------------------------------------------------------

    def acknowledge(self, holder: Holder, offsets: list[int]) -> tuple[list[int], int, list[Holder]]:
        """Mark those unfinished offsets as done that the holder has or had; a late answer counts, too.

        Returns the offsets, how many of them the holder had itself, and the holders that had the others.
        """
        unfinished, acquired, own = self._unfinished, self._acquired, 0
        overtaken: list[Holder] = []
        foreign: list[int] = []
        for offset in offsets:
            acquisition = unfinished[offset]
            if acquisition.holder is holder:
                own += 1
            elif holder not in acquisition.previous:
                foreign.append(offset)
                continue
            elif acquisition.holder is not None:
                overtaken.append(acquisition.holder)
            del unfinished[offset]
            acquisition.left -= 1
        self._changed[self.partition] = None
        if acquired and (not acquired[0].left or len(acquired) > acquired.length_max):
            acquired.forget_finished()
        if foreign:
            offsets = sorted(set(offsets).difference(foreign))
        return offsets, own, overtaken

    def release(self, offset: int, *, lost: bool = False) -> Acquisition[Holder]:
        """Make an unfinished offset available again; `lost` says that its holder did not answer."""
        before = self._unfinished[offset]
        before.left -= 1
        previous = before.previous if before.holder is None else (*before.previous, before.holder)
        released = Acquisition(None, previous, [offset], before.count, 0, before.losses + lost)
        self._unfinished[offset] = released
        if before.count:
            self._has_counts = True
            self._changed[self.partition] = None
        return released

    def archive(self, offset: int) -> None:
        """Mark an available offset as done without an answer: it has expired, is gone, or is a dead letter."""
        del self._unfinished[offset]
        self._changed[self.partition] = None

    def move_to(self, offset: int) -> Iterable[tuple[int, Acquisition[Holder]]]:
        """Set the committed position: everything below is done, delivery goes on from it.

        Returns the offsets that are no longer unfinished, with their former states.
        """
        self._changed[self.partition] = None
        if offset < self.committed:
            dropped = self._unfinished
            self.reset(Position(offset))
            return dropped.items()
        ended = [(below, one) for below, one in self._unfinished.items() if below < offset]
        for below, one in ended:
            del self._unfinished[below]
            one.left -= 1
        self._advance(offset)
        self._acquired.forget_finished()
        return ended

    def reset(self, position: Position) -> None:
        """Forget everything and start at another position."""
        self._start_at(position)
        self.resets += 1
        self._changed[self.partition] = None

    # --- deadlines ---------------------------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        return self._acquired.next_deadline_ms()

    def take_expired(self, now_ms: int) -> list[Acquisition[Holder]]:
        """Acquisitions whose deadline has come; the caller releases what is left of them (`unanswered`)."""
        return self._acquired.take_expired(now_ms)

    # --- the position ------------------------------------------------------------------------------------------------

    def position(self) -> Position:
        """The position to be stored, so that after a restart nothing done comes again and delivery counts continue."""
        done: list[Range] = []
        after = -1
        for offset in self._unfinished:
            if after >= 0 and offset > after:
                done.append(Range(after, offset - 1))
            after = offset + 1
        if 0 <= after < self.next_offset:
            done.append(Range(after, self.next_offset - 1))
        for ahead in self.ahead.done_from(self.next_offset):
            if done and done[-1].last == ahead.first - 1:
                done[-1] = Range(done[-1].first, ahead.last)
            else:
                done.append(ahead)
        self.done_range_count = len(done)
        return Position(self.committed, tuple(done), self._counted() if self._has_counts else ())

    def _counted(self) -> tuple[Counted, ...]:
        """Messages that were sent and not done, with their delivery counts. First deliveries in flight are left out:
        they would cost a write for every message sent.
        """
        found: list[Counted] = []
        for offset, acquisition in self._unfinished.items():
            count = acquisition.count
            if count < (2 if acquisition.holder is not None else 1):
                continue
            if found and found[-1].last == offset - 1 and found[-1].deliveries == count:
                found[-1] = Counted(found[-1].first, offset, count)
            else:
                found.append(Counted(offset, offset, count))
        found += self.ahead.counted_from(self.next_offset)
        self._has_counts = bool(found)
        if len(found) > COUNTED_MAX:
            found = sorted(sorted(found, key=lambda one: -one.deliveries)[:COUNTED_MAX])
        return tuple(found)


class Cursors(dict[int, PartitionCursor[Holder]]):
    """The cursors of a subscription by partition. They are added, never replaced: other parts keep references.

    `changed` are the partitions whose position differs from the one that was stored last.
    """

    __slots__ = ("changed",)

    def __init__(self, positions: Mapping[int, Position]) -> None:
        super().__init__()
        self.changed: dict[int, None] = {}
        for partition, position in positions.items():
            self.add(partition, position)

    def add(self, partition: int, position: Position) -> None:
        if partition not in self:
            self[partition] = PartitionCursor(partition, position, self.changed)
