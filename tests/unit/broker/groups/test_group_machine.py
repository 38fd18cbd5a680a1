"""The state machine of a group, step by step, with time as an argument."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from penstock.broker.groups.claim import NO_MEMBER, CommitClaim, Identity
from penstock.broker.groups.classic.exchange import JoinAnswer, JoinRequest, LeaveAnswer, SyncAnswer, SyncRequest
from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.classic.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.classic.records import GroupValue, decode_group
from penstock.broker.groups.effects import Effects, Now, Refused, Stored, Ticket
from penstock.model.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.feature("K-05")

SESSION_MS, REBALANCE_MS = 10_000, 60_000
SUBSCRIPTION = bytes.fromhex("000100000001000174ffffffff00000000")


def sync_request(
    member_id: str, generation: int, assignments: dict[str, bytes], protocol_name: str | None = None
) -> SyncRequest:
    return SyncRequest(
        who=Identity(member_id, None),
        generation=generation,
        protocol_type="consumer",
        protocol_name=protocol_name,
        assignments=assignments,
    )


class Scene:
    """One group, the time, and the answers that came out; records are stored at once unless held."""

    def __init__(self, *, delay_ms: int = 0, members_max: int = 100) -> None:
        self.time_ms = 0
        self.numbers = itertools.count(1)
        self.limits = GroupLimits(
            initial_rebalance_delay_ms=delay_ms,
            members_max=members_max,
            new_member_id=lambda name: f"{name}-{next(self.numbers)}",
        )
        self.group = ClassicGroup("g", self.limits, self.now)
        self.answers: dict[Ticket, JoinAnswer | SyncAnswer] = {}
        self.held: list[Effects] = []
        self.hold = False
        self.stored: list[GroupValue] = []

    @property
    def now(self) -> Now:
        return Now(self.time_ms, 1_000_000 + self.time_ms)

    @property
    def state(self) -> str:
        return self.group.state.value

    def take(self, effects: Effects) -> None:
        for record in effects.records:
            assert record.value is not None
            self.stored.append(decode_group(record.value))
        if self.hold:
            self.held.append(effects)
        else:
            self.resume(effects)
        for ticket, answer in effects.replies:
            assert ticket not in self.answers, "answered twice"
            assert isinstance(answer, JoinAnswer | SyncAnswer)
            self.answers[ticket] = answer

    def resume(self, effects: Effects) -> None:
        """The records of the effects are on disk."""
        for event in effects.then:
            self.take(self.group.resume(Stored(event), self.now))

    def release(self) -> None:
        held, self.held = self.held, []
        for effects in held:
            self.resume(effects)

    def join(self, ticket: str, member_id: str = "", **changes: Any) -> JoinAnswer | None:
        values: dict[str, Any] = {
            "member_id": member_id,
            "instance_id": None,
            "client_id": "c",
            "client_host": "/h",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": (("range", SUBSCRIPTION),),
            "needs_member_id": False,
            "can_skip_assignment": True,
        }
        self.take(self.group.join(JoinRequest(**values | changes), ticket, self.now))
        self.run_due()
        answer = self.answers.get(ticket)
        assert answer is None or isinstance(answer, JoinAnswer)
        return answer

    def sync(self, ticket: str, member_id: str, generation: int = -1, **assignments: bytes) -> SyncAnswer | None:
        generation = self.group.generation if generation < 0 else generation
        by_id = {name.replace("_", "-"): value for name, value in assignments.items()}
        self.take(self.group.sync(sync_request(member_id, generation, by_id), ticket, self.now))
        answer = self.answers.get(ticket)
        assert answer is None or isinstance(answer, SyncAnswer)
        return answer

    def heartbeat(self, member_id: str, generation: int = -1, instance_id: str | None = None) -> ErrorCode:
        generation = self.group.generation if generation < 0 else generation
        return self.group.heartbeat(Identity(member_id, instance_id), generation, self.now)

    def leave(self, *member_ids: str) -> list[ErrorCode]:
        return self.leave_as([Identity(item, None) for item in member_ids])

    def leave_as(self, leaving: list[Identity]) -> list[ErrorCode]:
        effects = self.group.leave(leaving, "leave", self.now)
        (answer,) = [reply.answer for reply in effects.replies if reply.ticket == "leave"]
        assert isinstance(answer, LeaveAnswer)
        effects.replies = [reply for reply in effects.replies if reply.ticket != "leave"]
        self.take(effects)
        return list(answer.codes)

    def run_due(self) -> None:
        while self.group.wake_ms is not None and self.group.wake_ms <= self.time_ms:
            self.take(self.group.advance(self.now))

    def pass_time(self, span_ms: int) -> None:
        end = self.time_ms + span_ms
        while self.group.wake_ms is not None and self.group.wake_ms <= end:
            self.time_ms = max(self.time_ms, self.group.wake_ms)
            self.take(self.group.advance(self.now))
        self.time_ms = end

    def stable_pair(self) -> None:
        """c-1 leads, c-2 follows, both have what they are assigned."""
        assert self.join("j1") is not None
        self.join("j2")
        self.join("j3", "c-1")
        self.sync("s2", "c-2")
        self.sync("s1", "c-1", c_1=b"one", c_2=b"two")
        assert self.state == "Stable"
        assert self.answers["s1"].assignment == b"one"  # type: ignore[union-attr]
        assert self.answers["s2"].assignment == b"two"  # type: ignore[union-attr]


def test_a_single_member_joins_syncs_and_is_stable() -> None:
    scene = Scene()
    joined = scene.join("j")
    assert joined is not None
    assert (joined.error, joined.generation, joined.leader, joined.member_id) == (0, 1, "c-1", "c-1")
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")
    assert [member.metadata for member in joined.members] == [SUBSCRIPTION]
    assert scene.state == "CompletingRebalance"
    synced = scene.sync("s", "c-1", c_1=b"all")
    assert synced is not None
    assert synced.assignment == b"all"
    assert scene.state == "Stable"
    assert scene.stored[-1].members[0].assignment == b"all"
    assert scene.group.reads("t")
    assert not scene.group.reads("u")


def test_stable_only_after_the_assignment_is_stored() -> None:
    scene = Scene()
    scene.join("j")
    scene.hold = True
    assert scene.sync("s", "c-1", c_1=b"all") is None
    assert scene.state == "CompletingRebalance"
    scene.release()
    assert scene.state == "Stable"
    assert scene.answers["s"].assignment == b"all"  # type: ignore[union-attr]


def test_an_assignment_of_an_older_generation_is_forgotten() -> None:
    scene = Scene()
    scene.join("j1")
    scene.hold = True
    scene.sync("s1", "c-1", c_1=b"all")
    scene.join("j2")  # a second member before the record is on disk
    assert scene.answers["s1"].error is ErrorCode.REBALANCE_IN_PROGRESS
    scene.release()
    assert scene.state == "PreparingRebalance"
    scene.join("j3", "c-1")
    assert scene.group.generation == 2


def test_a_refused_assignment_starts_the_rebalance_again() -> None:
    scene = Scene()
    scene.join("j1")
    scene.hold = True
    scene.sync("s1", "c-1", c_1=b"all")
    (effects,) = scene.held
    (event,) = effects.then
    scene.take(scene.group.resume(Refused(event, ErrorCode.UNKNOWN_SERVER_ERROR), scene.now))
    assert scene.answers["s1"].error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert scene.state == "PreparingRebalance"


def test_member_ids_are_handed_out_first() -> None:
    scene = Scene()
    first = scene.join("j1", needs_member_id=True)
    assert first is not None
    assert (first.error, first.member_id, first.generation) == (ErrorCode.MEMBER_ID_REQUIRED, "c-1", -1)
    assert not len(scene.group.members)
    assert scene.join("j2", "c-1", needs_member_id=True).error is ErrorCode.NONE  # type: ignore[union-attr]
    assert scene.join("j3", "c-9").error is ErrorCode.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]


def test_an_id_that_is_never_used_lapses() -> None:
    scene = Scene()
    scene.join("j1", needs_member_id=True)
    scene.pass_time(SESSION_MS)
    assert scene.group.is_vacant
    assert not scene.group.rebalance.pending
    assert scene.join("j2", "c-1").error is ErrorCode.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]


def test_a_new_group_waits_for_more_members() -> None:
    scene = Scene(delay_ms=3_000)
    assert scene.join("j1") is None
    scene.pass_time(2_000)
    assert scene.join("j2") is None
    scene.pass_time(1_000)
    assert "j1" not in scene.answers  # somebody came: one more delay
    scene.pass_time(2_999)
    assert "j1" not in scene.answers
    scene.pass_time(1)
    assert scene.answers["j1"].generation == scene.answers["j2"].generation == 1  # type: ignore[union-attr]
    assert len(scene.answers["j1"].members) == 2  # type: ignore[union-attr]
    assert scene.answers["j2"].members == ()  # type: ignore[union-attr]


def test_the_delay_of_a_new_group_ends_with_the_rebalance_timeout() -> None:
    scene = Scene(delay_ms=3_000)
    scene.join("j0", rebalance_timeout_ms=7_000)
    for step in range(1, 7):
        scene.pass_time(1_000)
        scene.join(f"j{step}", rebalance_timeout_ms=7_000)
    assert "j0" not in scene.answers
    scene.pass_time(1_000)
    assert scene.group.generation == 1
    assert len(scene.group.members) == 7


def test_a_second_member_makes_the_first_join_again() -> None:
    scene = Scene()
    scene.join("j1")
    scene.sync("s1", "c-1")
    assert scene.join("j2") is None
    assert scene.heartbeat("c-1") is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.join("j3", "c-1") is not None
    assert scene.answers["j2"].generation == 2  # type: ignore[union-attr]
    assert scene.answers["j2"].leader == "c-1"  # type: ignore[union-attr]


def test_who_does_not_join_again_in_time_is_out() -> None:
    scene = Scene()
    scene.stable_pair()
    assert scene.join("j4", "c-1") is None  # the leader forces a rebalance
    for _ in range(6):
        scene.pass_time(REBALANCE_MS // 6 - 1)
        scene.heartbeat("c-2")  # it lives but does not join
    scene.pass_time(6)
    assert scene.answers["j4"].generation == 3  # type: ignore[union-attr]
    assert [member.member_id for member in scene.group.members] == ["c-1"]
    assert scene.heartbeat("c-2") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_removed_and_leadership_moves_on() -> None:
    scene = Scene()
    scene.stable_pair()
    scene.pass_time(SESSION_MS - 1)
    assert scene.heartbeat("c-2") is ErrorCode.NONE
    scene.pass_time(1)
    assert scene.state == "PreparingRebalance"
    joined = scene.join("j4", "c-2")
    assert joined is not None
    assert (joined.leader, joined.generation) == ("c-2", 3)
    assert len(joined.members) == 1


def test_the_last_one_out_leaves_an_empty_group() -> None:
    scene = Scene()
    scene.stable_pair()
    assert scene.leave("c-1", "c-1", "c-2") == [0, ErrorCode.UNKNOWN_MEMBER_ID, 0]
    assert scene.state == "Empty"
    assert scene.group.generation == 3
    assert scene.stored[-1] == scene.group.rebalance.value()
    assert scene.stored[-1] == GroupValue("consumer", 3, None, None, scene.now.wall_ms, ())
    assert scene.group.protocol_type == "consumer"
    assert not scene.group.reads("t")


def test_who_does_not_sync_in_time_is_out() -> None:
    scene = Scene()
    scene.join("j1")
    scene.join("j2")
    scene.join("j3", "c-1")
    scene.sync("s1", "c-1", c_1=b"x")
    for _ in range(7):
        scene.pass_time(REBALANCE_MS // 7)
        scene.heartbeat("c-1", 2)
        scene.heartbeat("c-2", 2)
    scene.pass_time(7)
    assert scene.state == "PreparingRebalance"
    assert "c-2" not in scene.group.members


def test_a_first_join_does_not_wait_for_ever() -> None:
    scene = Scene()
    scene.stable_pair()
    for member in scene.group.members:
        member.rebalance_timeout_ms = 1 << 30
    assert scene.join("new") is None
    times = NEW_MEMBER_JOIN_TIMEOUT_MS // (SESSION_MS - 1) + 1
    for turn in range(times):
        scene.join(f"again-{turn}", "c-1")
        scene.pass_time(SESSION_MS - 1)
        scene.heartbeat("c-2")
    assert scene.answers["new"].error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_request_that_is_displaced_is_answered() -> None:
    scene = Scene()
    scene.stable_pair()
    assert scene.join("a", "c-1") is None
    assert scene.join("b", "c-1") is None
    assert scene.answers["a"].error is ErrorCode.REBALANCE_IN_PROGRESS
    scene.join("c", "c-2")
    assert scene.answers["b"].error is ErrorCode.NONE
    assert scene.sync("s3", "c-2") is None
    assert scene.sync("s4", "c-2") is None
    assert scene.answers["s3"].error is ErrorCode.REBALANCE_IN_PROGRESS


def test_rejoining_without_change() -> None:
    scene = Scene()
    scene.stable_pair()
    follower = scene.join("f", "c-2")
    assert follower is not None
    assert (follower.generation, follower.members) == (2, ())
    assert scene.state == "Stable"
    assert scene.join("f2", "c-2", protocols=(("range", b"other"),)) is None
    assert scene.state == "PreparingRebalance"
    scene.join("l", "c-1")
    again = scene.join("l2", "c-1")  # the answer got lost
    assert again is not None
    assert len(again.members) == 2
    assert again.generation == scene.group.generation == 3


def test_errors_of_a_sync() -> None:
    scene = Scene()
    scene.stable_pair()
    assert scene.sync("a", "c-1", 7).error is ErrorCode.ILLEGAL_GENERATION  # type: ignore[union-attr]
    assert scene.sync("b", "c-9").error is ErrorCode.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]
    scene.take(scene.group.sync(sync_request("c-1", 2, {}, "sticky"), "c", scene.now))
    assert scene.answers["c"].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.sync("d", "c-2").assignment == b"two"  # type: ignore[union-attr]
    scene.join("j", "c-1")
    assert scene.sync("e", "c-1").error is ErrorCode.REBALANCE_IN_PROGRESS  # type: ignore[union-attr]


def test_protocols_are_voted_for() -> None:
    scene = Scene(delay_ms=1000)
    scene.join("1", protocols=(("a", b"1"), ("b", b"1"), ("c", b"1")))
    scene.join("2", protocols=(("b", b"2"), ("c", b"2")))
    scene.join("3", protocols=(("b", b"3"), ("c", b"3"), ("a", b"3")))
    refused = scene.join("4", protocols=(("a", b"4"),))
    assert refused is not None
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    scene.pass_time(2000)
    assert scene.answers["1"].protocol_name == "b"
    assert [member.metadata for member in scene.answers["1"].members] == [b"1", b"2", b"3"]  # type: ignore[union-attr]
    other = scene.join("5", protocol_type="connect", protocols=(("b", b""),))
    assert other is not None
    assert other.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("changes", [{"protocols": ()}, {"protocol_type": ""}])
def test_a_group_needs_a_protocol(changes: dict[str, Any]) -> None:
    joined = Scene().join("j", **changes)
    assert joined is not None
    assert joined.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_takes_nobody() -> None:
    scene = Scene(members_max=2)
    scene.stable_pair()
    refused = scene.join("j")
    assert refused is not None
    assert (refused.error, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert scene.state == "Stable"


def test_commits_are_checked() -> None:
    scene = Scene()
    scene.group.check_commit(NO_MEMBER, scene.now)
    scene.join("j1")

    def code(member_id: str, generation: int, instance_id: str | None = None) -> ErrorCode:
        try:
            scene.group.check_commit(CommitClaim(member_id, instance_id, generation), scene.now)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    me = "c-1"
    assert code(me, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    scene.sync("s1", "c-1")
    assert code(me, 1) is ErrorCode.NONE
    assert code(me, 2) is ErrorCode.ILLEGAL_GENERATION
    assert code(me, -1) is ErrorCode.ILLEGAL_GENERATION
    assert code("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code("c-1", 1, "i") is ErrorCode.UNKNOWN_MEMBER_ID
    scene.join("j2")
    assert code(me, 1) is ErrorCode.NONE  # while others join, what was read may still be committed


def test_a_commit_is_a_sign_of_life() -> None:
    scene = Scene()
    scene.join("j1")
    scene.sync("s1", "c-1")
    for _ in range(5):
        scene.pass_time(SESSION_MS - 1)
        scene.group.check_commit(CommitClaim("c-1", None, 1), scene.now)
    assert scene.state == "Stable"


class TestStaticMembers:
    def joined(self, **changes: Any) -> Scene:
        scene = Scene()
        scene.join("j1", instance_id="one", client_id="x", **changes)
        scene.sync("s1", "one-1", one_1=b"mine")
        assert scene.state == "Stable"
        return scene

    def test_a_restart_keeps_the_place(self) -> None:
        scene = self.joined()
        again = scene.join("j2", instance_id="one")
        assert again is not None
        assert (again.member_id, again.leader, again.generation) == ("one-2", "one-2", 1)
        assert again.skip_assignment
        assert [member.member_id for member in again.members] == ["one-2"]
        assert scene.state == "Stable"
        assert scene.sync("s2", "one-2").assignment == b"mine"  # type: ignore[union-attr]
        assert scene.stored[-1].members[0].member_id == "one-2"
        assert scene.stored[-1].members[0].assignment == b"mine"

    def test_an_old_leader_is_not_told_that_it_leads(self) -> None:
        again = self.joined().join("j2", instance_id="one", can_skip_assignment=False)
        assert again is not None
        assert (again.member_id, again.leader, again.members) == ("one-2", "one-1", ())
        assert not again.skip_assignment

    def test_the_former_one_is_fenced(self) -> None:
        scene = self.joined()
        scene.join("j2", instance_id="one")
        assert scene.heartbeat("one-1", instance_id="one") is ErrorCode.FENCED_INSTANCE_ID
        assert scene.heartbeat("one-1") is ErrorCode.UNKNOWN_MEMBER_ID
        assert scene.heartbeat("one-2", instance_id="one") is ErrorCode.NONE
        fenced = scene.join("j3", "one-1", instance_id="one")
        assert fenced is not None
        assert fenced.error is ErrorCode.FENCED_INSTANCE_ID

    def test_the_former_one_hears_so_while_it_waits(self) -> None:
        scene = self.joined()
        scene.join("j2")
        assert scene.join("j3", "one-1", instance_id="one") is not None
        assert scene.join("j4", "one-1", instance_id="one", protocols=(("range", b"x"),)) is None
        scene.join("j5", instance_id="one")
        assert scene.answers["j4"].error is ErrorCode.FENCED_INSTANCE_ID

    def test_a_replacement_answers_after_it_is_stored(self) -> None:
        scene = self.joined()
        scene.hold = True
        assert scene.join("j2", instance_id="one") is None
        scene.release()
        assert scene.answers["j2"].member_id == "one-2"  # type: ignore[union-attr]

    def test_a_rebalance_that_begins_meanwhile_answers_it(self) -> None:
        scene = self.joined()
        scene.hold = True
        scene.join("j2", instance_id="one")
        scene.join("j3")
        scene.release()
        assert scene.answers["j2"].generation == scene.answers["j3"].generation == 2  # type: ignore[union-attr]

    def test_it_stays_until_its_session_ends(self) -> None:
        scene = self.joined(session_timeout_ms=REBALANCE_MS * 3)
        scene.join("j2")
        scene.pass_time(REBALANCE_MS)
        assert scene.answers["j2"].generation == 2  # type: ignore[union-attr]
        assert len(scene.group.members) == 2
        assert scene.answers["j2"].leader == "c-2"  # type: ignore[union-attr]

    def test_it_leaves_by_its_instance(self) -> None:
        scene = self.joined()
        codes = scene.leave_as([Identity("", "none"), Identity("", "one")])
        assert codes == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
        assert scene.state == "Empty"

    def test_another_protocol_rebalances(self) -> None:
        scene = self.joined(protocols=(("range", b""), ("sticky", b"")))
        again = scene.join("j2", instance_id="one", protocols=(("sticky", b""),))
        assert again is not None
        assert (again.generation, again.protocol_name) == (2, "sticky")


def test_a_restored_group_goes_on_in_its_generation() -> None:
    scene = Scene()
    scene.stable_pair()
    later = Now(50, 5_000_000)
    restored = ClassicGroup("g", scene.limits, later)
    restored.restore(scene.stored[-1], later)
    assert restored.state.value == "Stable"
    assert restored.members.leader_id == "c-1"
    assert restored.heartbeat(Identity("c-2", None), 2, later) is ErrorCode.NONE
    assert restored.rebalance.value() == scene.stored[-1]
    assert restored.describe() == scene.group.describe()
    assert restored.reads("t")
    assert restored.wake_ms == 50 + SESSION_MS
    restored.advance(Now(50 + SESSION_MS, 0))
    assert restored.state.value == "Empty"


def test_a_restored_group_above_the_limit_rebalances() -> None:
    scene = Scene()
    scene.stable_pair()
    limits = GroupLimits(initial_rebalance_delay_ms=0, members_max=1, new_member_id=lambda name: name)
    restored = ClassicGroup("g", limits, scene.now)
    restored.restore(scene.stored[-1], scene.now)
    restored.loaded(scene.now)
    assert restored.state.value == "PreparingRebalance"


def test_an_abandoned_group_answers_everybody() -> None:
    scene = Scene()
    scene.stable_pair()
    scene.join("waits", "c-1")
    for ticket, answer in scene.group.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE):
        assert isinstance(answer, JoinAnswer | SyncAnswer)
        scene.answers[ticket] = answer
    assert scene.answers["waits"].error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.heartbeat("c-1") is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_no_busy_loop_when_only_absent_static_members_are_left() -> None:
    scene = Scene()
    scene.join("j1", instance_id="one", session_timeout_ms=REBALANCE_MS)
    scene.sync("s1", "one-1")
    scene.group.members["one-1"].rebalance_timeout_ms = 0
    scene.join("j2", rebalance_timeout_ms=0)
    scene.leave("c-2")
    wakes = 0
    while scene.state != "Empty":
        assert scene.group.wake_ms is not None
        scene.time_ms = max(scene.time_ms, scene.group.wake_ms)
        scene.take(scene.group.advance(scene.now))
        wakes += 1
        assert wakes < 2 * REBALANCE_MS // 100
