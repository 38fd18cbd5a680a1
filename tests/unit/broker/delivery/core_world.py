"""A subscription core with everything around it simulated: logs, connections, the store of positions, time, crashes."""

from __future__ import annotations

from collections import Counter

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.progress.position import Position, decode_position, encode_position
from penstock.protocol.push.data import AckRange, Item, Verdict, decode_items, encode_item

Place = tuple[int, int]


class World:
    """A world in which the invariants of a subscription are checked at every step."""

    def __init__(self, rules: Rules, partitions: int = 1, *, by_key: bool = False) -> None:
        self.rules = rules
        self.by_key = by_key
        self.logs: list[list[bytes | None]] = [[] for _ in range(partitions)]  # keys of the messages
        self.stored: dict[int, tuple[int, str]] = dict.fromkeys(range(partitions), (0, "push1 0"))
        self.now_ms = 0
        self.done: set[Place] = set()  # answered, and the core knows
        self.durable: set[Place] = set()  # … and it is stored
        self.dead: set[Place] = set()
        self.committed_by_hand: set[Place] = set()
        self.deliveries: Counter[Place] = Counter()
        self.stored_deliveries: Counter[Place] = Counter()
        self.can_store_letters = True
        self.received: list[tuple[str, Place]] = []
        self.at: dict[Place, Member] = {}
        self.late: dict[Place, Member] = {}  # whose time was over
        self._next_member = 0
        self.restart()

    def restart(self) -> None:
        """Everything that is not stored is forgotten."""
        positions = {index: decode_position(*stored)[0] for index, stored in self.stored.items()}
        self.core = Subscription("s", "t", self.rules, positions, by_key=self.by_key)
        self.at.clear()
        self.late.clear()
        self.done = set(self.durable)
        self.deliveries = Counter(self.stored_deliveries)

    # --- what happens ------------------------------------------------------------------------------------------------

    def publish(self, partition: int, key: bytes | None = None) -> None:
        self.logs[partition].append(key)
        self.pump()

    def join(self, credit: int = 3) -> Member:
        self._next_member += 1
        member = Member(f"m{self._next_member}", credit=credit)
        self.core.join(member, self.now_ms)
        self.pump()
        return member

    def leave(self, member: Member) -> None:
        self.core.leave(member, self.now_ms)
        self.at = {place: holder for place, holder in self.at.items() if holder is not member}
        self.pump()

    def answer(self, member: Member, place: Place, verdict: Verdict = Verdict.DONE) -> None:
        partition, offset = place
        self.core.acknowledge(member, [AckRange(partition, offset, offset, verdict)], self.now_ms)
        if self.at.get(place) is member:
            del self.at[place]
            if verdict is Verdict.DONE:
                self.done.add(place)
        self.pump()

    def answer_late(self) -> None:
        """Let members answer late for messages that were taken from them; that counts as long as they are known."""
        for place, member in list(self.late.items()):
            del self.late[place]
            message = self.core.cursors[place[0]].get(place[1])
            if member.member_id in self.core.members and message is not None and member in message.previous:
                self.core.acknowledge(member, [AckRange(*place, place[1])], self.now_ms)
                self.at.pop(place, None)
                self.done.add(place)
                self._send()  # what was on its way when the next answer came is not called back
        self.pump()

    def commit(self, partition: int, offset: int) -> None:
        """The position is set by hand, forwards only: going back would make done what is not, here."""
        offset = max(offset, self.core.cursors[partition].committed)
        self.core.set_position(partition, offset, self.now_ms)
        below = {(partition, one) for one in range(offset)}
        self.committed_by_hand |= below
        self.done |= below
        for place in [place for place in self.at if place in self.done]:
            del self.at[place]
        self.pump()

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.core.tick(self.now_ms)
        for place in [place for place in self.at if not self.is_in_flight(place)]:
            self.late[place] = self.at.pop(place)
        self.pump()

    def is_in_flight(self, place: Place) -> bool:
        message = self.core.cursors[place[0]].get(place[1])
        return message is not None and message.holder is self.at[place]

    def store(self) -> None:
        for partition, position in self.core.take_positions(len(self.logs)):
            self.stored[partition] = (position.offset, encode_position(position, 0))
        self.durable = set(self.done)
        self.stored_deliveries = Counter(
            {
                place: count
                for place, count in self.deliveries.items()
                if place not in self.done and (count > 1 or place not in self.at or not self.is_in_flight(place))
            }
        )

    # --- the driver --------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        core = self.core
        core.tick(self.now_ms)
        for dead in core.exhausted.letters() if self.can_store_letters else ():
            assert self.deliveries[dead.partition, dead.offset] == self.rules.deliveries_max
            self.dead.add((dead.partition, dead.offset))
            self.done.add((dead.partition, dead.offset))
            core.exhausted.stored(dead)
        for partition, offset in core.redelivery.due(self.now_ms, 100):
            key = self.logs[partition][offset]
            core.redelivery.deal_again(core.cursors[partition], offset, _item(partition, offset), key, self.now_ms)
        self._send()
        for partition, log in enumerate(self.logs):
            cursor = core.cursors[partition]
            while core.dispatch.can_deal() and core.dispatch.may_deal_new(cursor):
                start = cursor.next_offset
                if start >= len(log):
                    break
                offsets = [offset for offset in range(start, len(log)) if not cursor.ahead.is_done(offset)]
                if not offsets:
                    cursor.skip_to(len(log))
                    break
                items = [_item(partition, offset) for offset in offsets]
                if not core.dispatch.deal(cursor, offsets, items, [log[offset] for offset in offsets], self.now_ms):
                    break
                self._send()
        self._send()
        self.check()

    def _send(self) -> None:
        while self.core.dispatch.touched:
            member, _ = self.core.dispatch.touched.popitem()
            items, _ = member.take_outgoing()
            for item in items:
                (message,), _ = decode_items(item, 0, 1)
                self._received(member, message)

    def _received(self, member: Member, message: Item) -> None:
        place = (message.partition, message.offset)
        assert place not in self.done, f"{place} was acknowledged and came again"
        self.deliveries[place] += 1
        assert message.delivery_count == self.deliveries[place]
        assert message.delivery_count <= self.rules.deliveries_max
        self.at[place] = member
        self.received.append((member.member_id, place))

    def check(self) -> None:
        core = self.core
        for member in core.members.values():
            mine = [place for place, holder in self.at.items() if holder is member and self.is_in_flight(place)]
            assert len(mine) == member.in_flight <= member.full_credit, (mine, member.in_flight, member.full_credit)
        for partition, cursor in core.cursors.items():
            undone = [offset for offset in range(cursor.next_offset) if (partition, offset) not in self.done]
            assert cursor.committed == (undone[0] if undone else cursor.next_offset)
            position = cursor.position()
            assert decode_position(position.offset, encode_position(position, 7)) == (position, 7)
            assert _done_below(position, cursor.next_offset) == cursor.next_offset - len(undone)
        if self.by_key:
            holders: dict[bytes, Member] = {}
            for (partition, offset), holder in self.at.items():
                key = self.logs[partition][offset]
                if key is not None and self.is_in_flight((partition, offset)):
                    assert holders.setdefault(key, holder) is holder, f"{key!r} is at two members"


def _item(partition: int, offset: int) -> bytes:
    return encode_item(partition, 1, None, offset, 0, b"", b"")


def _done_below(position: Position, next_offset: int) -> int:
    return position.offset + sum(
        min(last, next_offset - 1) - first + 1 for first, last in position.done if first < next_offset
    )
