"""Fetch sessions when there are more clients than places."""

import pytest

from penstock.broker.fetch.sessions import FetchSessions
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import FETCH_SESSION_UNUSED_MS
from penstock.protocol.kafka.fetch import FetchPartition, FetchRequest


def request(session_id: int = 0, epoch: int = 0, *, forget: bool = False) -> FetchRequest:
    partitions = [] if epoch else [FetchPartition("prices", 0, -1, 0, -1, 1000)]
    forgotten: list[tuple[str | bytes, int]] = [("prices", 0)] if forget else []
    return FetchRequest(-1, 0, 1, 1000, 0, session_id, epoch, partitions, forgotten, "")


def test_sessions_in_use_are_not_taken_away_for_newer_ones() -> None:
    sessions = FetchSessions(2)
    first, second = (sessions.open(request(), False, now) for now in (0, 1))
    assert first is not None
    assert second is not None
    assert sessions.open(request(), False, 2) is None
    for epoch in (1, 2, 3):
        assert sessions.open(request(first.id, epoch), False, epoch) is first
        assert sessions.open(request(second.id, epoch), False, epoch) is second


def test_a_session_that_nobody_uses_makes_room() -> None:
    sessions = FetchSessions(2)
    first, second = (sessions.open(request(), False, 0) for _ in range(2))
    assert first is not None
    assert second is not None
    assert sessions.open(request(first.id, 1), False, FETCH_SESSION_UNUSED_MS) is first
    third = sessions.open(request(), False, FETCH_SESSION_UNUSED_MS)
    assert third is not None
    with pytest.raises(KafkaError) as gone:
        sessions.open(request(second.id, 1), False, FETCH_SESSION_UNUSED_MS)
    assert gone.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(request(first.id, 2), False, FETCH_SESSION_UNUSED_MS) is first


def wide(*names: str, session_id: int = 0, epoch: int = 0, forget: tuple[str, ...] = ()) -> FetchRequest:
    partitions = [FetchPartition(name, 0, -1, 0, -1, 1000) for name in names]
    forgotten: list[tuple[str | bytes, int]] = [(name, 0) for name in forget]
    return FetchRequest(-1, 0, 1, 1000, 0, session_id, epoch, partitions, forgotten, "")


def test_partitions_of_all_sessions_are_bounded_whether_they_exist_or_not() -> None:
    sessions = FetchSessions(partitions_max=5)
    first = sessions.open(wide("a", "b"), False, 0)
    second = sessions.open(wide("a", "b", "c"), False, 0)
    assert first is not None
    assert second is not None
    assert sessions.open(wide("a"), False, 1) is None
    assert sessions.open(wide("d", session_id=second.id, epoch=1, forget=("a",)), False, 1) is second
    assert sessions.weight == 5
    with pytest.raises(KafkaError) as grown:
        sessions.open(wide("c", session_id=first.id, epoch=1), False, 1)
    assert grown.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(sessions), sessions.weight) == (1, 3)
    late = FETCH_SESSION_UNUSED_MS + 1
    third = sessions.open(wide("a", "b", "c", "d"), False, late)
    assert third is not None, "an unused session makes room for partitions, too"
    assert sessions.weight == 4
    fourth = sessions.open(wide("a"), False, late)
    assert fourth is not None
    assert sessions.open(wide("b", session_id=fourth.id, epoch=1), False, 2 * late) is fourth
    assert (len(sessions), sessions.weight) == (1, 2)
    sessions.forget(fourth)
    assert sessions.weight == 0


def test_names_that_are_too_long_for_a_topic_count_several_times() -> None:
    sessions = FetchSessions(partitions_max=5)
    session = sessions.open(wide("x" * 1_600), False, 0)
    assert session is not None
    assert sessions.weight == 5
    assert sessions.open(wide("y", session_id=session.id, epoch=1, forget=("x" * 1_600,)), False, 0) is session
    assert sessions.weight == 1


def test_a_session_without_partitions_ends() -> None:
    sessions = FetchSessions()
    session = sessions.open(request(), False, 0)
    assert session is not None
    assert sessions.open(request(session.id, 1, forget=True), False, 0) is None
    assert len(sessions) == 0
