"""Proof that a client was not disturbed, and the consequence if there is none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.load.comparison import ATTEMPTS_MAX, Comparison, best_of
from tests.load.steady import Window


def window(p99_ms: float, echoed_ms: float = 0.1) -> Window:
    times = {"acknowledged": p99_ms, "arrived": p99_ms, "echoed": echoed_ms}
    return Window(100, times, times)


def attempt(alone: Sequence[float], beside: Sequence[float], echoed: float = 0.1, beside_it: float = 0.1) -> Comparison:
    return Comparison([window(one, echoed) for one in alone], [window(one, beside_it) for one in beside])


GOOD = attempt([1.0, 1.1, 1.2], [1.5, 1.6])
LATE = attempt([1.0, 1.0, 1.0], [3.0, 3.0])
LATER = attempt([1.0, 1.0, 1.0], [5.0, 5.0])
NOISY = attempt([1.0, 1.0, 1.0], [1.0, 1.0], echoed=2.0)
NOISIER = attempt([1.0, 1.0, 1.0], [1.0, 1.0], echoed=5.0)
UNSTEADY = attempt([1.0, 4.0, 9.0], [1.0, 1.0])


def test_within_twice_as_late_is_a_proof() -> None:
    assert GOOD.problem is None


def test_later_says_by_how_much() -> None:
    assert LATE.problem is not None
    assert "p99 × 3.00, 3.00 ms where 2.00 ms are allowed" in LATE.problem


def test_what_the_machine_takes_from_everybody_is_allowed() -> None:
    assert attempt([1.0, 1.0, 1.0], [3.0, 3.0], beside_it=1.2).problem is None


@pytest.mark.parametrize("busy", [NOISY, UNSTEADY])
def test_a_busy_machine_proves_nothing(busy: Comparison) -> None:
    assert busy.problem is not None
    assert "could not judge" in busy.problem


def test_one_bad_window_alone_is_no_matter() -> None:
    assert attempt([1.0, 1.1, 9.0], [1.5, 1.5]).problem is None


@pytest.mark.parametrize(
    ("made", "best", "count"),
    [
        ([GOOD, LATE], GOOD, 1),
        ([LATE, NOISY, GOOD], GOOD, 3),
        ([LATER, LATE, NOISY, NOISIER], LATE, ATTEMPTS_MAX),
        ([NOISIER, NOISY, NOISIER, NOISIER], NOISY, ATTEMPTS_MAX),
    ],
)
def test_the_best_attempt_counts(made: list[Comparison], best: Comparison, count: int) -> None:
    left = iter(made)
    assert best_of(lambda: next(left)) == (best, count)


def test_figures_say_what_came_of_it() -> None:
    figures = LATE.figures()
    assert figures["judged"]
    assert figures["problem"] == LATE.problem
    assert figures["beside"]["acknowledged"] == {"p50_ms": 3.0, "p99_ms": 3.0}
