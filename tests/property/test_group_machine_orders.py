"""A group under random events in random order, with random delays until its records are on disk.

Whatever happens: generations never fall, one leader is in the group while it has members, nobody is answered twice,
in a Stable group every member that was told an assignment was told the same generation, and in the end, when nobody
speaks any more, everybody has been answered, the group is empty and its memory is given back. Then all inputs are
replayed on a second group, which must have the same effects.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from sys import getsizeof
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.broker.groups.claim import Identity
from penstock.broker.groups.classic.exchange import (
    Assignment,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    SyncAnswer,
    SyncRequest,
)
from penstock.broker.groups.classic.generation import TOPIC_BYTES
from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.effects import Effects, Event, Now, Refused, Stored
from penstock.broker.groups.group_state import GroupState
from penstock.broker.groups.memory import GROUP_BYTES, GroupMemory, kept_bytes
from penstock.model.errors import ErrorCode

SESSION_MS, REBALANCE_MS = 1_000, 3_000
PROTOCOLS = st.sampled_from(
    [(("range", b"a"),), (("range", b"b"), ("sticky", b"b")), (("sticky", b"c"), ("range", b"c"))]
)
EMPTY_BYTES = GROUP_BYTES + kept_bytes("g")
MEMORY_BYTES = EMPTY_BYTES + 4_500  # for three members or so, so that there is not always room
OVER_BYTES = 500  # assignments are in memory beside those that they replace until they are stored
INSTANCES = st.sampled_from([None, None, None, "one", "two"])


class GroupOrders(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.time_ms = 0
        self.ids = itertools.count(1)
        self.tickets = itertools.count(1)
        self.asked: set[int] = set()
        self.answers: dict[int, object] = {}
        self.asking: dict[int, str] = {}
        self.known: list[tuple[str, str | None]] = []  # members that clients believe to be
        self.unstored: list[Event] = []
        self.last_generation = 0
        self.synced: dict[str, int] = {}
        self.inputs: list[tuple[str, tuple[Any, ...], Effects | ErrorCode]] = []
        self.group = self.new_group(self.ids)

    @staticmethod
    def new_group(ids: Iterator[int]) -> ClassicGroup:
        limits = GroupLimits(
            initial_rebalance_delay_ms=500,
            members_max=4,
            new_member_id=lambda name: f"{name}-{next(ids)}",
            memory=GroupMemory(MEMORY_BYTES),
        )
        return ClassicGroup("g", limits, Now(0, 0))

    def give(self, method: str, *arguments: Any) -> None:
        """Give the group an input, and take its effects."""
        effects = getattr(self.group, method)(*arguments)
        self.inputs.append((method, arguments, effects))
        if isinstance(effects, Effects):
            self.take(effects)

    @property
    def now(self) -> Now:
        return Now(self.time_ms, self.time_ms)

    def take(self, effects: Effects) -> None:
        self.unstored += effects.then
        for ticket, answer in effects.replies:
            assert isinstance(ticket, int)
            assert ticket in self.asked
            assert ticket not in self.answers, "answered twice"
            self.answers[ticket] = answer
            if isinstance(answer, JoinAnswer):
                if answer.error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                    self.known.append((answer.member_id, None))
                if answer.error is ErrorCode.NONE:
                    assert answer.generation == self.group.generation
                    assert (answer.leader == answer.member_id) >= bool(answer.members)
            elif isinstance(answer, SyncAnswer) and answer.error is ErrorCode.NONE:
                assert self.group.state is GroupState.STABLE
                self.synced[self.asking[ticket]] = self.group.generation

    def ticket(self, member_id: str) -> int:
        ticket = next(self.tickets)
        self.asked.add(ticket)
        self.asking[ticket] = member_id
        return ticket

    def pick(self, data: Any) -> tuple[str, str | None]:
        member_id, _ = data.draw(st.sampled_from([*self.known, ("stranger", None)]))
        instance = None
        if member_id in self.group.members:
            instance = self.group.members[member_id].instance_id
        return member_id, instance

    @rule(protocols=PROTOCOLS, instance=INSTANCES, needs_id=st.booleans(), can_skip=st.booleans())
    def join_first(self, protocols: Any, instance: str | None, needs_id: bool, can_skip: bool) -> None:
        self._join("", instance, protocols, needs_id, can_skip)

    @rule(data=st.data(), protocols=PROTOCOLS)
    def join_again(self, data: Any, protocols: Any) -> None:
        member_id, instance = self.pick(data)
        self._join(member_id, instance, protocols, True, True)

    def _join(self, member_id: str, instance: str | None, protocols: Any, needs_id: bool, can_skip: bool) -> None:
        request = JoinRequest(
            member_id=member_id,
            instance_id=instance,
            client_id="c",
            client_host="/h",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocol_type="consumer",
            protocols=protocols,
            needs_member_id=needs_id,
            can_skip_assignment=can_skip,
        )
        self.give("join", request, self.ticket(member_id), self.now)

    @rule(data=st.data(), off=st.sampled_from([0, 0, 0, 1]))
    def sync(self, data: Any, off: int) -> None:
        member_id, instance = self.pick(data)
        assignments = {member.member_id: b"generation %d" % self.group.generation for member in self.group.members}
        who = Identity(member_id, instance)
        generation = self.group.generation - off
        request = SyncRequest(who=who, generation=generation, assignments=assignments)
        self.give("sync", request, self.ticket(member_id), self.now)

    @rule(data=st.data())
    def heartbeat(self, data: Any) -> None:
        self.give("heartbeat", Identity(*self.pick(data)), self.group.generation, self.now)

    @rule(data=st.data())
    def leave(self, data: Any) -> None:
        ticket = self.ticket("")
        self.give("leave", [Identity(*self.pick(data))], ticket, self.now)
        answer = self.answers[ticket]
        assert isinstance(answer, LeaveAnswer)
        assert len(answer.codes) == 1

    @rule(span_ms=st.sampled_from([0, 100, 500, 999, 1000, 3000]))
    def pass_time(self, span_ms: int) -> None:
        self.time_ms += span_ms
        self.give("advance", self.now)

    @rule(is_refused=st.sampled_from([False, False, False, True]))
    def store_next(self, is_refused: bool) -> None:
        if self.unstored:
            event = self.unstored.pop(0)
            outcome = Refused(event, ErrorCode.UNKNOWN_SERVER_ERROR) if is_refused else Stored(event)
            self.give("resume", outcome, self.now)

    @invariant()
    def generations_never_fall(self) -> None:
        assert self.group.generation >= self.last_generation
        self.last_generation = self.group.generation

    @invariant()
    def one_leader(self) -> None:
        leader = self.group.members.leader_id
        assert (leader is not None) == (len(self.group.members) > 0)
        assert leader is None or leader in self.group.members

    @invariant()
    def empty_means_nobody(self) -> None:
        if self.group.state is GroupState.EMPTY:
            assert not len(self.group.members)
        if self.group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            assert len(self.group.members)

    @invariant()
    def stable_members_have_one_generation(self) -> None:
        if self.group.state is GroupState.STABLE:
            for member in self.group.members:
                assert member.assignment in (b"", b"generation %d" % self.group.generation)
                assert member.sync_ticket is None

    @invariant()
    def counts_are_right(self) -> None:
        waiting = sum(member.join_ticket is not None for member in self.group.members)
        assert waiting == self.group.members.waiting_to_join

    @invariant()
    def memory_is_accounted_for(self) -> None:
        rebalance = self.group.rebalance
        kept = EMPTY_BYTES + kept_bytes(rebalance.generation.protocol_type) - kept_bytes(None)
        kept += sum(member.kept_bytes + getsizeof(member.assignment) for member in self.group.members)
        kept += sum(map(kept_bytes, rebalance.pending))
        kept += sum(event.kept_bytes for event in self.unstored if isinstance(event, Assignment))
        kept += TOPIC_BYTES * len(rebalance.generation.topics or ())
        assert rebalance.account.held_bytes == kept
        assert kept <= MEMORY_BYTES + OVER_BYTES

    @invariant()
    def nobody_waits_without_a_clock(self) -> None:
        waiting = self.asked - self.answers.keys()
        assert not waiting or self.group.wake_ms is not None or self.unstored

    def teardown(self) -> None:
        """All members fall silent: time alone must answer all requests and empty the group."""
        for _ in range(2_000):
            while self.unstored:
                self.give("resume", Stored(self.unstored.pop(0)), self.now)
            if self.group.wake_ms is None:
                break
            self.time_ms = max(self.time_ms, self.group.wake_ms)
            self.give("advance", self.now)
        assert self.group.state is GroupState.EMPTY
        assert self.asked == self.answers.keys()
        account = self.group.rebalance.account
        assert account.held_bytes == EMPTY_BYTES + kept_bytes(self.group.protocol_type) - kept_bytes(None)
        self.replay()

    def replay(self) -> None:
        """Effects are values: the same inputs have equal effects, in another group and at another time."""
        group = self.new_group(itertools.count(1))
        for method, arguments, effects in self.inputs:
            assert getattr(group, method)(*arguments) == effects
        assert group.describe() == self.group.describe()


TestGroupOrders = GroupOrders.TestCase
TestGroupOrders.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
