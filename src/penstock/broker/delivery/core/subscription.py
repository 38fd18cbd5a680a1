"""One subscription: which member gets which message, what is done, and what is delivered again and when.

It has no clock, no log and no socket. A driver brings messages that were read (`dispatch`, `redelivery`), answers of
members, and the time (`tick`), and takes away messages for members (`Member.outgoing`), messages for the
dead-letter topic (`exhausted`) and positions to be stored (`take_positions`). A simulation drives it with crashes and
time as inputs (tests/unit/broker/delivery/test_core_simulation.py).

    partition_cursor   progress in each partition: in flight, deadlines, counts, ranges done
    dispatch           members, and which of them gets which message
    redelivery         messages that were given back and are delivered again
    poison             messages that are delivered one at a time, and those that are not delivered any more
    acks, refresh      answers of members, and starting from the beginning
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from penstock.broker.delivery.core.acks import Acks
from penstock.broker.delivery.core.counters import DeliveryCounters
from penstock.broker.delivery.core.dispatch import NEVER, Dispatch
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.poison import Exhausted, Suspects
from penstock.broker.delivery.core.redelivery import Redelivery
from penstock.broker.delivery.core.refresh import Refresh, RefreshProgress
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.progress.partition_cursor import Cursors
from penstock.broker.progress.position import Position
from penstock.protocol.push.data import AckRange


class Subscription:
    """A subscription with its members. The driver calls the parts by name, so that a message passes no extra call."""

    __slots__ = (
        "_acks", "_evicted", "_suspects", "counters", "cursors", "dispatch", "exhausted", "name", "redelivery",
        "refreshing", "topic",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        topic: str,
        rules: Rules,
        positions: Mapping[int, Position],
        *,
        by_key: bool = False,
        refresh: Refresh | None = None,
        counters: DeliveryCounters | None = None,
    ) -> None:
        self.name = name
        self.topic = topic
        self.counters = counters = counters or DeliveryCounters()
        self.cursors = cursors = Cursors[Member](positions)
        self.exhausted = exhausted = Exhausted(cursors)
        self._suspects = suspects = Suspects(rules, cursors, exhausted)
        self.dispatch = dispatch = Dispatch(rules, counters, exhausted, suspects, by_key=by_key)
        self.redelivery = redelivery = Redelivery(rules, cursors, dispatch, exhausted, suspects)
        self.refreshing = RefreshProgress(refresh, cursors, dispatch, redelivery, exhausted)
        self._acks = Acks(rules, cursors, dispatch, redelivery, counters)
        self._evicted: list[Member] = []

    # --- members -----------------------------------------------------------------------------------------------------

    @property
    def members(self) -> Mapping[str, Member]:
        return self.dispatch.members

    @property
    def owners(self) -> set[str]:
        """The owners of all members."""
        return {member.owner for member in self.members.values()}

    @property
    def in_flight(self) -> int:
        return self.dispatch.in_flight

    def join(self, member: Member, now_ms: int) -> None:
        self.dispatch.join(member, now_ms)
        if self._suspects.must_look:
            self.dispatch.limit_credit(now_ms, to_one=self._suspects.look())

    def leave(self, member: Member, now_ms: int) -> None:
        """Remove a member, and give the messages that it has not answered to others."""
        if self.dispatch.leave(member):
            self.redelivery.give_back_of(member, now_ms)
            self.refreshing.leave(member)
            self.refreshing.rewind_if_idle(now_ms)

    def take_evicted(self) -> list[Member]:
        """Members that must be disconnected: a refresh waits for them, and they have not answered in time."""
        evicted, self._evicted = self._evicted, []
        return evicted

    def acknowledge(self, member: Member, ranges: Iterable[AckRange], now_ms: int) -> None:
        """Take a member's answers. KafkaError if one of the messages was never sent; then none of them counts."""
        self._acks.acknowledge(member, ranges, now_ms)
        if self.refreshing.is_waiting:
            self.refreshing.rewind_if_idle(now_ms)

    def set_position(self, partition: int, offset: int, now_ms: int) -> None:
        """Declare everything below `offset` done; delivery goes on from there."""
        self._acks.set_position(partition, offset, now_ms)

    # --- time --------------------------------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> None:
        """Take back messages that were not answered in time. To be called before messages are dealt."""
        if now_ms >= self.dispatch.earliest_deadline_ms:
            for member in self.redelivery.expire(now_ms):
                if self.refreshing.is_waiting:
                    self._evicted.append(member)
                self.dispatch.refill(member, now_ms)
        if self.refreshing.is_waiting:
            self.refreshing.rewind_if_idle(now_ms)
        if self._suspects.must_look:
            self.dispatch.limit_credit(now_ms, to_one=self._suspects.look())

    def next_wake_ms(self) -> int | None:
        """When `tick` has something to do or a redelivery is due; may be a little early."""
        # While a refresh waits for messages in flight nothing is sent again, however long it has been due.
        again_ms = None if self.refreshing.is_waiting else self.redelivery.next_ms
        deadline_ms = self.dispatch.earliest_deadline_ms
        if deadline_ms == NEVER:
            return again_ms
        return deadline_ms if again_ms is None else min(deadline_ms, again_ms)

    # --- positions ---------------------------------------------------------------------------------------------------

    def add_partition(self, partition: int, position: Position) -> None:
        self.cursors.add(partition, position)
        self.refreshing.add_partition(partition, position.offset)
        if position.counted:
            self._suspects.look_ahead()

    @property
    def change_count(self) -> int:
        """Positions that may differ from those that were stored last."""
        return len(self.cursors.changed)

    def take_positions(self, most: int) -> Iterator[tuple[int, Position]]:
        """So many positions that may have changed, the oldest changes first. Each is taken when it is asked for."""
        changed = self.cursors.changed
        for partition in tuple(islice(changed, most)):
            del changed[partition]
            waiting = self.refreshing.waiting_start(partition)
            if waiting is not None:
                yield partition, Position(waiting)
            elif partition in self.cursors and not self.refreshing.is_waiting:
                yield partition, self.cursors[partition].position()

    def put_back(self, partitions: Iterable[int]) -> None:
        """Take back positions that could not be stored."""
        self.cursors.changed.update(dict.fromkeys(partitions))

    def forget_changes(self) -> None:
        """Drop changed positions instead of storing them: the topic is gone."""
        self.cursors.changed.clear()
