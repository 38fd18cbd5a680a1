"""Fetch sessions when there are more clients than places."""

import pytest

from penstock.broker.fetch.sessions import FetchSessions
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import FETCH_SESSION_UNUSED_MS
from penstock.protocol.kafka.fetch import FetchPartition, FetchRequest
from penstock.security.principal import Principal

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")


def request(session_id: int = 0, epoch: int = 0, *, forget: bool = False) -> FetchRequest:
    partitions = [] if epoch else [FetchPartition("prices", 0, -1, 0, -1, 1000)]
    forgotten: list[tuple[str | bytes, int]] = [("prices", 0)] if forget else []
    return FetchRequest(-1, 0, 1, 1000, 0, session_id, epoch, partitions, forgotten, "")


def test_sessions_in_use_are_not_taken_away_for_newer_ones() -> None:
    sessions = FetchSessions(2)
    first, second = (sessions.open(request(), ALICE, False, now) for now in (0, 1))
    assert first is not None
    assert second is not None
    assert sessions.open(request(), ALICE, False, 2) is None
    for epoch in (1, 2, 3):
        assert sessions.open(request(first.id, epoch), ALICE, False, epoch) is first
        assert sessions.open(request(second.id, epoch), ALICE, False, epoch) is second


def test_a_session_that_nobody_uses_makes_room() -> None:
    sessions = FetchSessions(2)
    first, second = (sessions.open(request(), ALICE, False, 0) for _ in range(2))
    assert first is not None
    assert second is not None
    assert sessions.open(request(first.id, 1), ALICE, False, FETCH_SESSION_UNUSED_MS) is first
    third = sessions.open(request(), ALICE, False, FETCH_SESSION_UNUSED_MS)
    assert third is not None
    with pytest.raises(KafkaError) as gone:
        sessions.open(request(second.id, 1), ALICE, False, FETCH_SESSION_UNUSED_MS)
    assert gone.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(request(first.id, 2), ALICE, False, FETCH_SESSION_UNUSED_MS) is first


def wide(*names: str, session_id: int = 0, epoch: int = 0, forget: tuple[str, ...] = ()) -> FetchRequest:
    partitions = [FetchPartition(name, 0, -1, 0, -1, 1000) for name in names]
    forgotten: list[tuple[str | bytes, int]] = [(name, 0) for name in forget]
    return FetchRequest(-1, 0, 1, 1000, 0, session_id, epoch, partitions, forgotten, "")


def test_partitions_of_all_sessions_are_bounded_whether_they_exist_or_not() -> None:
    sessions = FetchSessions(partitions_max=5)
    first = sessions.open(wide("a", "b"), ALICE, False, 0)
    second = sessions.open(wide("a", "b", "c"), ALICE, False, 0)
    assert first is not None
    assert second is not None
    assert sessions.open(wide("a"), ALICE, False, 1) is None
    assert sessions.open(wide("d", session_id=second.id, epoch=1, forget=("a",)), ALICE, False, 1) is second
    assert sessions.weight == 5
    with pytest.raises(KafkaError) as grown:
        sessions.open(wide("c", session_id=first.id, epoch=1), ALICE, False, 1)
    assert grown.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(sessions), sessions.weight) == (1, 3)
    late = FETCH_SESSION_UNUSED_MS + 1
    third = sessions.open(wide("a", "b", "c", "d"), ALICE, False, late)
    assert third is not None, "an unused session makes room for partitions, too"
    assert sessions.weight == 4
    fourth = sessions.open(wide("a"), ALICE, False, late)
    assert fourth is not None
    assert sessions.open(wide("b", session_id=fourth.id, epoch=1), ALICE, False, 2 * late) is fourth
    assert (len(sessions), sessions.weight) == (1, 2)
    sessions.forget(fourth)
    assert sessions.weight == 0


def test_names_that_are_too_long_for_a_topic_count_several_times() -> None:
    sessions = FetchSessions(partitions_max=5)
    session = sessions.open(wide("x" * 1_600), ALICE, False, 0)
    assert session is not None
    assert sessions.weight == 5
    assert sessions.open(wide("y", session_id=session.id, epoch=1, forget=("x" * 1_600,)), ALICE, False, 0) is session
    assert sessions.weight == 1


def test_a_session_without_partitions_ends() -> None:
    sessions = FetchSessions()
    session = sessions.open(request(), ALICE, False, 0)
    assert session is not None
    assert sessions.open(request(session.id, 1, forget=True), ALICE, False, 0) is None
    assert len(sessions) == 0


def test_a_session_belongs_to_its_principal() -> None:
    sessions = FetchSessions()
    hers = sessions.open(request(), ALICE, False, 0)
    assert hers is not None
    with pytest.raises(KafkaError) as unknown:
        sessions.open(request(hers.id, 1), BOB, False, 0)
    assert unknown.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(request(hers.id, -1), BOB, False, 0) is None, "the end of a session"
    his = sessions.open(request(hers.id, 0), BOB, False, 0)
    assert his is not None
    assert his.id != hers.id
    assert sessions.open(request(hers.id, 1), ALICE, False, 0) is hers
    assert sessions.open(request(hers.id, -1), ALICE, False, 0) is None
    assert len(sessions) == 1


def test_a_principal_with_many_sessions_gives_up_those_beyond_a_quarter() -> None:
    sessions = FetchSessions(8)
    many = [sessions.open(request(), ALICE, False, 0) for _ in range(8)]
    assert None not in many
    assert sessions.open(request(), ALICE, False, 0) is None, "no place of its own for itself"
    his = [sessions.open(request(), BOB, False, 0) for _ in range(3)]
    assert [session is not None for session in his] == [True, True, False], "a quarter"
    others = [sessions.open(request(), Principal("User", str(number)), False, 0) for number in range(5)]
    assert [session is not None for session in others] == [True] * 4 + [False], "she has a quarter left"
    assert [session.id in {each.id for each in many[-2:] if each} for session in many if session] == [False] * 6 + [
        True
    ] * 2
    assert (len(sessions), sessions.weight) == (8, 8)


def test_a_principal_with_many_partitions_gives_up_those_beyond_a_quarter() -> None:
    sessions = FetchSessions(partitions_max=8)
    first, second = (sessions.open(wide("a", "b", "c", "d"), ALICE, False, 0) for _ in range(2))
    assert first is not None
    assert second is not None
    his = sessions.open(wide("a"), BOB, False, 0)
    assert his is not None
    assert (len(sessions), sessions.weight) == (2, 5)
    assert sessions.open(wide("b", "c", "d", session_id=his.id, epoch=1), BOB, False, 0) is his, "there was room"
    with pytest.raises(KafkaError):
        sessions.open(wide("e", session_id=his.id, epoch=2), BOB, False, 0)
    assert sessions.open(wide("e", session_id=second.id, epoch=1), ALICE, False, 0) is second
    assert (len(sessions), sessions.weight) == (1, 5)
