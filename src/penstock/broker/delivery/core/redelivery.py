"""Redelivery: the messages that are delivered again, and when.

Messages are given back when their member rejects them, does not answer in time, or leaves. The driver reads those that
are due and deals them again (`due`, `deal_again`); those that were delivered too often go to `poison.Exhausted`.
"""

from __future__ import annotations

import heapq

from penstock.broker.delivery.core.dispatch import NEVER, OUTGOING_BYTES_MAX, Dispatch
from penstock.broker.delivery.core.member import Member, MemberCursor, Message
from penstock.broker.delivery.core.poison import Exhausted, Suspects
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.progress.partition_cursor import Cursors


class Redelivery:
    """Messages of one subscription that wait for their next delivery."""

    __slots__ = ("_cursors", "_dispatch", "_exhausted", "_returned", "_rules", "_suspects")

    def __init__(
        self, rules: Rules, cursors: Cursors[Member], dispatch: Dispatch, exhausted: Exhausted, suspects: Suspects
    ) -> None:
        self._rules = rules
        self._cursors = cursors
        self._dispatch = dispatch
        self._exhausted = exhausted
        self._suspects = suspects
        self._returned: list[tuple[int, int, int]] = []  # a heap of due time, partition, offset

    # --- sending again -----------------------------------------------------------------------------------------------

    @property
    def next_ms(self) -> int | None:
        """When the next message is due, if members have room then."""
        return self._returned[0][0] if self._returned and self._dispatch.ready_count else None

    def due(self, now_ms: int, limit: int) -> list[tuple[int, int]]:
        """Partition and offset of messages to be sent again, for which members have room. The driver must call
        `deal_again` for each, or `gone` if it is no longer in the log.
        """
        found: list[tuple[int, int]] = []
        returned = self._returned
        if self._suspects:
            limit = min(limit, self._dispatch.ready_count)  # one for each member
        while returned and returned[0][0] <= now_ms and len(found) < limit and self._dispatch.can_deal():
            _, partition, offset = heapq.heappop(returned)
            if self._cursors[partition].is_available(offset):
                found.append((partition, offset))
        return found

    def deal_again(self, cursor: MemberCursor, offset: int, item: bytes, key: bytes | None, now_ms: int) -> None:
        message = cursor.get(offset)
        if message is None or message.holder is not None:
            return  # answered meanwhile
        if not self._dispatch.can_deal():
            self.postpone(cursor, offset, now_ms)
        elif not self._dispatch.place(cursor, offset, message, item, key, now_ms):
            is_large = len(item) > OUTGOING_BYTES_MAX  # the member of its key has no room, others may have
            self.postpone(cursor, offset, now_ms + self._rules.redelivery_delay_ms if is_large else now_ms)

    def gone(self, cursor: MemberCursor, offset: int) -> None:
        """Mark a message as done that has expired, or is no longer in the log."""
        if cursor.is_available(offset):
            cursor.archive(offset)

    def postpone(self, cursor: MemberCursor, offset: int, due_ms: int) -> None:
        """Try a message again later: it could not be read, or no member had room."""
        heapq.heappush(self._returned, (due_ms, cursor.partition, offset))

    def clear(self) -> None:
        self._returned.clear()

    # --- giving back -------------------------------------------------------------------------------------------------

    def give_back(self, cursor: MemberCursor, offset: int, due_ms: int, *, lost: bool = False) -> None:
        """Give a message back, for redelivery or as a dead letter; `lost` says that its member did not answer."""
        message = cursor.release(offset, lost=lost)
        self._dispatch.keys.finished(cursor.partition, (offset,))
        self._suspects.note(cursor.partition, offset, message.losses)
        if message.count >= self._rules.deliveries_max:
            self._exhausted.add(cursor.partition, offset, message.count)
        else:
            self.postpone(cursor, offset, due_ms)

    def give_back_of(self, member: Member, now_ms: int) -> None:
        """Give back everything that a member has not answered and will not answer."""
        for cursor in self._cursors.values():
            for acquisition in cursor.held_by(member):
                self._give_back_all(cursor, acquisition, now_ms)
        self._give_back_waiting(member, now_ms)

    def expire(self, now_ms: int) -> set[Member]:
        """Give back messages that were not answered in time. Returns their members."""
        if now_ms < self._dispatch.earliest_deadline_ms:
            return set()
        late: set[Member] = set()
        keys: set[tuple[Member, int]] = set()
        for cursor in self._cursors.values():
            for acquisition in cursor.take_expired(now_ms):
                member = acquisition.holder
                assert member is not None
                late.add(member)
                slot = self._dispatch.keys.slot(cursor.partition, acquisition.offsets[0])
                if slot is not None:
                    keys.add((member, slot))
                self._give_back_all(cursor, acquisition, now_ms)
        if keys:
            self._move_keys(keys, now_ms)
        deadlines = [cursor.next_deadline_ms() for cursor in self._cursors.values()]
        self._dispatch.no_deadline_before(min((one for one in deadlines if one is not None), default=NEVER))
        return late

    def _give_back_all(self, cursor: MemberCursor, acquisition: Message, due_ms: int) -> None:
        unanswered = cursor.unanswered(acquisition)
        if acquisition.holder is not None:
            acquisition.holder.answered(len(unanswered))
        for offset in unanswered:
            self.give_back(cursor, offset, due_ms, lost=True)

    def _move_keys(self, keys: set[tuple[Member, int]], now_ms: int) -> None:
        """Give back every message of the keys: two members must not have the same key. From now on other members are
        preferred: one that is stuck would keep the messages until they are dead letters.
        """
        keys_of = self._dispatch.keys
        for member in {member for member, _ in keys}:
            for cursor in self._cursors.values():
                for acquisition in cursor.held_by(member):
                    if (member, keys_of.slot(cursor.partition, acquisition.offsets[0])) in keys:
                        self._give_back_all(cursor, acquisition, now_ms)
        for member, moved in keys:
            self._give_back_waiting(member, now_ms, moved)
            keys_of.avoid(moved, member, self._dispatch.members.values())

    def _give_back_waiting(self, member: Member, now_ms: int, slot: int | None = None) -> None:
        for waiting in self._dispatch.keys.take_waiting(member, slot):
            self.give_back(waiting.cursor, waiting.offset, now_ms)
