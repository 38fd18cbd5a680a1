"""Answers of members: messages that are done or not done, and positions that are set by hand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from penstock.broker.delivery.core.counters import DeliveryCounters
from penstock.broker.delivery.core.dispatch import Dispatch
from penstock.broker.delivery.core.member import Member, MemberCursor
from penstock.broker.delivery.core.redelivery import Redelivery
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.progress.partition_cursor import Cursors
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.data import AckRange, Verdict

# An answer with more ranges is gone through in the order of its offsets, together with those in flight: ranges that
# overlap, or are long, would otherwise cost a walk over all that is in flight each.
_FEW_RANGES: Final = 8


class Acks:
    __slots__ = ("_counters", "_cursors", "_dispatch", "_redelivery", "_rules")

    def __init__(
        self,
        rules: Rules,
        cursors: Cursors[Member],
        dispatch: Dispatch,
        redelivery: Redelivery,
        counters: DeliveryCounters,
    ) -> None:
        self._rules = rules
        self._cursors = cursors
        self._dispatch = dispatch
        self._redelivery = redelivery
        self._counters = counters

    def acknowledge(self, member: Member, ranges: Iterable[AckRange], now_ms: int) -> None:
        """Take a member's answers. KafkaError if one of the messages was never sent; then none of them counts."""
        ranges = tuple(ranges)
        cursors = self._cursors
        for partition, first, last, _ in ranges:
            cursor = cursors.get(partition)
            if cursor is None or last >= cursor.next_offset:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"offsets {first} to {last} of partition {partition} were not sent; acknowledge what came in DATA",
                )
        keys = self._dispatch.keys if self._dispatch.by_key else None
        freed = 0
        for cursor, named, verdict in self._named(ranges):
            if verdict is not Verdict.DONE:
                self._not_done(member, cursor, named, now_ms)
                continue
            offsets, own, overtaken = cursor.acknowledge(member, named)
            freed += own
            if keys is not None:
                keys.finished(cursor.partition, offsets)
            for other in overtaken:  # the answer was late, and another member has the message
                other.answered(1)
                self._dispatch.refill(other, now_ms)
        member.answered(freed)
        self._counters.acknowledged += freed
        self._dispatch.refill(member, now_ms)

    def _named(self, ranges: Sequence[AckRange]) -> Iterator[tuple[MemberCursor, list[int], Verdict]]:
        """The unfinished offsets that ranges name."""
        if len(ranges) <= _FEW_RANGES:
            for partition, first, last, verdict in ranges:
                cursor = self._cursors[partition]
                yield cursor, cursor.within(first, last), verdict
            return
        for partition, its in groupby(sorted(ranges, key=lambda one: one[:3]), lambda one: one.partition):
            cursor = self._cursors[partition]
            offsets, at = cursor.unfinished(), 0
            for _, first, last, verdict in its:
                begin, end = bisect_left(offsets, first, at), bisect_right(offsets, last, at)
                if begin < end:
                    yield cursor, offsets[begin:end], verdict
                    at = end

    def _not_done(self, member: Member, cursor: MemberCursor, offsets: Iterable[int], now_ms: int) -> None:
        due_ms = now_ms + self._rules.redelivery_delay_ms
        for offset in cursor.held_among(member, offsets):
            member.answered(1)
            self._redelivery.give_back(cursor, offset, due_ms)

    def set_position(self, partition: int, offset: int, now_ms: int) -> None:
        """Declare everything below `offset` done; delivery goes on from there."""
        for ended, acquisition in self._cursors[partition].move_to(offset):
            self._dispatch.keys.finished(partition, (ended,))
            if acquisition.holder is not None:
                acquisition.holder.answered(1)
        for member in tuple(self._dispatch.members.values()):
            self._dispatch.refill(member, now_ms)
