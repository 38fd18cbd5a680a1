"""Producers of a log when clients use more ids than it remembers."""

from __future__ import annotations

import pytest

from penstock.model.batch import TRANSACTIONAL_BIT, BatchHeader
from penstock.model.errors import KafkaError
from penstock.storage.admission import producer_state
from penstock.storage.admission.producer_state import Producers, decode_producers

MOST = 8


def header(producer_id: int, sequence: int = 0, attributes: int = 0) -> BatchHeader:
    return BatchHeader(0, 100, 0, 2, 0, attributes, 0, 0, 0, producer_id, 0, sequence, 1)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_PER_LOG_MAX", MOST)


@pytest.mark.feature("F-06", "X-02")
def test_a_new_id_for_every_batch_leaves_the_log_with_those_in_use() -> None:
    producers = Producers()
    for number in range(1_000):
        producers.note(header(7, number), 2 * number, -1, seen_ms=number)
        producers.note(header(1_000 + number), 2 * number + 1, -1, seen_ms=number)
        assert len(producers) <= MOST
    assert producers.check(header(7, 999)) is not None, "a batch of the producer in use is recognised again"
    assert producers.check(header(7, 1_000)) is None
    with pytest.raises(KafkaError):
        producers.check(header(7, 1_002))
    assert producers.check(header(1_000, 1)) is None, "one that was forgotten goes on as if it were new"


def test_producers_with_an_open_transaction_are_kept() -> None:
    producers = Producers()
    for number in range(MOST):
        producers.note(header(number, attributes=TRANSACTIONAL_BIT), number, -1, seen_ms=number)
    for number in range(100, 200):
        producers.note(header(number), number, -1, seen_ms=number)
    assert {one.producer_id for one in producers.open_transactions()} == set(range(MOST))
    assert len(producers) <= MOST + 1


def test_a_snapshot_with_more_is_read_and_becomes_smaller_with_the_next_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_state, "PRODUCERS_PER_LOG_MAX", 100)
    full = Producers()
    for number in range(20):
        full.note(header(number), number, -1, seen_ms=number)
    monkeypatch.setattr(producer_state, "PRODUCERS_PER_LOG_MAX", MOST)
    loaded, _ = decode_producers(full.encode(), 0)
    assert len(loaded) == 20
    for number in range(20, 40):
        loaded.note(header(number), number, -1, seen_ms=number)
    assert len(loaded) <= MOST
