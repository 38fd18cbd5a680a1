"""Dispatch of messages to members: which member gets which message.

The order is strict: a message goes to the member that has waited longest among those with room, or to the member of
its key.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.delivery.core.counters import DeliveryCounters
from penstock.broker.delivery.core.key_owners import WAITING_MAX, KeyOwners, slot_of
from penstock.broker.delivery.core.member import Member, MemberCursor, MemberQueue, Message, Waiting
from penstock.broker.delivery.core.poison import Exhausted, Suspects
from penstock.broker.delivery.core.rules import Rules
from penstock.protocol.push.data import with_delivery_count

OUTGOING_BYTES_MAX = 256 * 1024
"""Bytes that a member is dealt at once; the rest waits until its connection has sent them."""
NEVER = 1 << 62


class Dispatch:
    """The members of a subscription. Messages go into `Member.outgoing` and are acquired at their cursor.

    `touched` are members with something outgoing; the driver takes them out. `earliest_deadline_ms` is a lower bound
    of all deadlines, so that time can pass without a look at every partition.
    """

    __slots__ = (
        "_counters", "_exhausted", "_is_halted", "_queue", "_rules", "_suspects", "by_key",
        "earliest_deadline_ms", "keys", "members", "touched",
    )  # fmt: skip

    def __init__(
        self, rules: Rules, counters: DeliveryCounters, exhausted: Exhausted, suspects: Suspects, *, by_key: bool
    ) -> None:
        self._rules = rules
        self._counters = counters
        self._exhausted = exhausted
        self._suspects = suspects
        self.by_key = by_key
        self._queue = MemberQueue()
        self._is_halted = False
        self.keys = KeyOwners()
        self.members: dict[str, Member] = {}
        self.touched: dict[Member, None] = {}
        self.earliest_deadline_ms = NEVER

    # --- members -----------------------------------------------------------------------------------------------------

    def join(self, member: Member, now_ms: int) -> None:
        self.members[member.member_id] = member
        self.keys.members_changed()
        self.refill(member, now_ms)

    def leave(self, member: Member) -> bool:
        """Remove a member; False if it is not one. Messages that it has not answered stay acquired by it."""
        if self.members.pop(member.member_id, None) is None:
            return False
        member.is_blocked = True
        self._queue.discard(member)
        self.touched.pop(member, None)
        self.keys.members_changed()
        return True

    @property
    def in_flight(self) -> int:
        return sum(member.in_flight for member in self.members.values())

    @property
    def ready_count(self) -> int:
        """How many members wait for messages; some of them may have no room left."""
        return len(self._queue)

    def refill(self, member: Member, now_ms: int) -> None:
        """Serve a member that may have room: it joined, answered, or its connection has sent everything."""
        while member.waiting and member.room > 0 and not self._is_halted:
            waiting = self.keys.next_waiting(member)
            if waiting.is_current:
                self._send(member, waiting.cursor, waiting.offset, waiting.message, waiting.item, now_ms)
        if member.room > 0 and not member.is_queued and member.member_id in self.members:
            self._queue.add(member)

    def limit_credit(self, now_ms: int, *, to_one: bool) -> None:
        """Limit every member to one message at a time, or give it its full credit again."""
        for member in self.members.values():
            credit = 1 if to_one else member.full_credit
            if member.credit != credit:
                member.credit = credit
                self.refill(member, now_ms)

    # --- halting -----------------------------------------------------------------------------------------------------

    def halt(self) -> None:
        """Deal nothing until `restart`."""
        self._is_halted = True

    def restart(self, now_ms: int) -> None:
        """Forget waiting messages: delivery begins at other positions."""
        self._is_halted = False
        self.earliest_deadline_ms = NEVER
        self.keys.clear()
        for member in self.members.values():
            member.waiting.clear()
        for member in self.members.values():
            self.refill(member, now_ms)

    # --- new messages ------------------------------------------------------------------------------------------------

    def can_deal(self) -> bool:
        if self._is_halted:
            return False
        queue = self._queue
        if queue and queue[0].room <= 0:
            queue.drop_full()
        return bool(queue) and self.keys.waiting_count < WAITING_MAX

    def may_deal_new(self, cursor: MemberCursor) -> bool:
        rules = self._rules
        return cursor.done_range_count < rules.done_ranges_max and cursor.unfinished_count < rules.unfinished_max

    def deal(
        self,
        cursor: MemberCursor,
        offsets: Sequence[int],
        items: Sequence[bytes],
        keys: Sequence[bytes | None],
        now_ms: int,
    ) -> int:
        """Send new messages of a partition, in their order. Returns how many of them found a member."""
        if not self.can_deal():
            return 0
        room = self._rules.unfinished_max - cursor.unfinished_count
        if len(offsets) > room:
            if room <= 0:
                return 0
            offsets, items, keys = offsets[:room], items[:room], keys[:room]
        if self.by_key or cursor.ahead.counted:
            return self._deal_singly(cursor, offsets, items, keys, now_ms)
        if len(self.members) == 1:
            return self._deal_to_one(self._queue[0], cursor, offsets, items, now_ms)
        return self._deal_in_turn(cursor, offsets, items, now_ms)

    def _deal_to_one(
        self,
        member: Member,
        cursor: MemberCursor,
        offsets: Sequence[int],
        items: Sequence[bytes],
        now_ms: int,
    ) -> int:
        taken = min(member.room, len(offsets))
        dealt, size = items[:taken], member.outgoing_bytes
        for index, item in enumerate(dealt):
            size += len(item)
            if size > OUTGOING_BYTES_MAX and index:
                taken, dealt = index, dealt[:index]
                size -= len(item)
                break
        cursor.acquire(list(offsets[:taken]), member, self._deadline_ms(now_ms))
        member.in_flight += taken
        member.outgoing += dealt
        member.outgoing_bytes = size
        self.touched[member] = None
        self._counters.delivered += taken
        return taken

    def _deal_in_turn(self, cursor: MemberCursor, offsets: Sequence[int], items: Sequence[bytes], now_ms: int) -> int:
        taken = 0
        shares: dict[Member, list[int]] = {}
        following = self._queue.next
        for offset, item in zip(offsets, items, strict=True):
            member = following()
            if member is None:
                break
            shares.setdefault(member, []).append(offset)
            member.put(item)
            taken += 1
            if member.outgoing_bytes > OUTGOING_BYTES_MAX:
                break
        if taken:
            cursor.acquire_shared(offsets[:taken], shares, self._deadline_ms(now_ms))
            self.touched.update(dict.fromkeys(shares))
            self._counters.delivered += taken
        return taken

    def _deal_singly(
        self,
        cursor: MemberCursor,
        offsets: Sequence[int],
        items: Sequence[bytes],
        keys: Sequence[bytes | None],
        now_ms: int,
    ) -> int:
        """Deal messages one by one: by key, or where earlier deliveries must be counted."""
        taken = 0
        for offset, item, key in zip(offsets, items, keys, strict=True):
            message = cursor.first_delivery(offset)
            self._suspects.note(cursor.partition, offset, message.losses)
            if message.count >= self._rules.deliveries_max:
                cursor.keep_available(offset, message)
                self._exhausted.add(cursor.partition, offset, message.count)
            elif not self.place(cursor, offset, message, item, key, now_ms):
                break
            taken += 1
        return taken

    def _deadline_ms(self, now_ms: int) -> int:
        deadline_ms = now_ms + self._rules.ack_timeout_ms
        if deadline_ms < self.earliest_deadline_ms:
            self.earliest_deadline_ms = deadline_ms
        return deadline_ms

    def no_deadline_before(self, earliest_ms: int) -> None:
        """Raise the lower bound of all deadlines, after a look at every cursor."""
        self.earliest_deadline_ms = earliest_ms

    # --- single messages ---------------------------------------------------------------------------------------------

    def place(
        self,
        cursor: MemberCursor,
        offset: int,
        message: Message,
        item: bytes,
        key: bytes | None,
        now_ms: int,
    ) -> bool:
        """Send a message by its key, or once more: to the member that owns its key, or to the next member."""
        if self.by_key and key is not None:
            return self._place_by_key(cursor, offset, message, item, slot_of(key), now_ms)
        member = self._queue.next(other_than=message.previous[-1] if message.previous else None)
        if member is None:
            return False
        self._send(member, cursor, offset, message, item, now_ms)
        return True

    def _place_by_key(
        self,
        cursor: MemberCursor,
        offset: int,
        message: Message,
        item: bytes,
        slot: int,
        now_ms: int,
    ) -> bool:
        if not self.members or self.keys.waiting_count >= WAITING_MAX:
            return False
        owner = self.keys.owner(slot, self.members.values())
        must_wait = owner.room <= 0 or owner.waiting or owner.outgoing_bytes > OUTGOING_BYTES_MAX
        if must_wait and len(item) > OUTGOING_BYTES_MAX:
            return False  # it is too large to be kept: all keys behind it wait, too
        self.keys.took(slot, owner, cursor.partition, offset)
        if must_wait:
            cursor.keep_available(offset, message)
            self.keys.wait(owner, Waiting(cursor, offset, message, slot, item))
        else:
            self._send(owner, cursor, offset, message, item, now_ms)
        return True

    def _send(
        self,
        member: Member,
        cursor: MemberCursor,
        offset: int,
        message: Message,
        item: bytes,
        now_ms: int,
    ) -> None:
        count = cursor.acquire_one(offset, message, member, self._deadline_ms(now_ms))
        member.put(item if count == 1 else with_delivery_count(item, count))
        self.touched[member] = None
        self._counters.delivered += 1
        self._counters.redelivered += count > 1
