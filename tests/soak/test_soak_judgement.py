"""The judges of a soak: what they must notice, and what they must not mind."""

from __future__ import annotations

import pytest

from tests.soak.ledger import PartitionLedger, code_of, message, read_message
from tests.soak.plan import Schedule
from tests.soak.verdict import MEMORY, leaks, not_judged, slope_per_hour, trend, trends
from tests.soak.watch import OpenThings, Sample


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def ledger(problems: list[str]) -> PartitionLedger:
    return PartitionLedger(("sized", 0), problems.append)


def test_what_was_acknowledged_must_be_read(ledger: PartitionLedger, problems: list[str]) -> None:
    for number in range(10):
        ledger.acknowledge(number, code_of(1, number))
    for number in range(10):
        ledger.read(number, message(1, number))
    assert ledger.check_order() == 10
    assert ledger.acknowledged_end == 10
    assert not problems


def test_another_message_is_noticed(ledger: PartitionLedger, problems: list[str]) -> None:
    ledger.acknowledge(5, code_of(1, 5))
    ledger.read(5, message(1, 6))
    assert len(problems) == 1


def test_a_changed_message_is_noticed(ledger: PartitionLedger, problems: list[str]) -> None:
    changed = bytearray(message(1, 40))
    changed[-1] ^= 1
    ledger.read(40, bytes(changed))
    ledger.read(41, None)
    assert len(problems) == 2


def test_a_message_that_is_stored_twice_is_noticed(ledger: PartitionLedger, problems: list[str]) -> None:
    ledger.read(0, message(1, 0))
    ledger.read(1, message(2, 0))
    ledger.read(2, message(1, 0))
    ledger.check_order()
    assert len(problems) == 1


def test_messages_say_who_they_are() -> None:
    assert read_message(message(3, 123_456)) == code_of(3, 123_456)


def test_growth_is_noticed() -> None:
    flat = [(float(number), 50.0 + number % 3) for number in range(200)]
    growing = [(at, value + at * 0.1) for at, value in flat]
    peaks = [(at, value + (40.0 if at % 10 == 0 else 0.0)) for at, value in flat]
    assert trend("flat", flat, MEMORY).flat
    assert trend("peaks", peaks, MEMORY).flat
    assert not trend("growing", growing, MEMORY).flat
    assert slope_per_hour(growing) == pytest.approx(360, rel=0.1)


def sample(at: float, *, life: int = 0, p50_ms: float = 1.0) -> Sample:
    return Sample(
        at=at, life=life, anonymous_mb=50.0, workers_mb=20.0, files=90, threads=9, cpu_seconds=at, disk_mb=40.0,
        connections=10, p50_ms=p50_ms, p99_ms=9.0, acknowledged=0, read=0,
    )  # fmt: skip


def test_an_hour_shows_a_trend_and_five_minutes_do_not() -> None:
    assert Schedule(3600).shows_trend
    assert not Schedule(300).shows_trend


def test_too_few_samples_are_noticed() -> None:
    schedule = Schedule(3600)
    few = [sample(at * 10.0) for at in range(50)]
    enough = [sample(at * 5.0) for at in range(400)]
    assert not_judged(trends([], schedule))
    assert not_judged(trends(few, schedule))
    assert not not_judged(trends(enough, schedule))
    assert not_judged(trends([sample(at * 5.0, life=at // 40) for at in range(400)], schedule))


def test_a_broker_that_becomes_slower_is_noticed() -> None:
    samples = [sample(at * 5.0, p50_ms=1.0 if at < 200 else 30.0) for at in range(400)]
    assert [each.what for each in trends(samples, Schedule(3600)) if not each.flat] == [
        "life 1: acknowledgement p50, ms"
    ]


def test_leaks_are_noticed() -> None:
    before = OpenThings(kinds={"socket": 4, ".log": 30}, threads=12)
    assert not leaks(before, OpenThings(kinds={"socket": 4, ".log": 33}, threads=13))
    after = OpenThings(kinds={"socket": 5, ".log": 33}, threads=30, deleted=["/data/0.log (deleted)"], trash=1)
    assert len(leaks(before, after)) == 4
