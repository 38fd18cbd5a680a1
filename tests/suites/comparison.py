"""One suite on two brokers, test by test.

A test counts when it passes on Kafka: then it must pass on Penstock. What fails on one of them is run a second time,
alone, on both. A test that passes one time and fails the other is flaky: if it is on Kafka, too, nobody is to blame; if
it is on Penstock only, that is worse than Kafka, unless `expected.py` says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tests.suites.expected import flaky_reason_of, reason_of
from tests.suites.suite import Outcome, Result

Run = Mapping[str, Result]
DID_NOT_END = Result(outcome=Outcome.FAILED, message="did not end")


class Verdict(StrEnum):
    SAME = "passes on both"
    WORSE = "passes on Kafka, fails on Penstock"
    EXPECTED = "passes on Kafka, known to fail on Penstock"
    LISTED_BUT_PASSES = "known to fail on Penstock, and passes"
    FLAKY = "passes and fails"
    FLAKY_HERE = "passes on Kafka, passes and fails on Penstock"
    FLAKY_KNOWN = "passes on Kafka, known to pass and fail on Penstock"
    BETTER = "fails on Kafka, passes on Penstock"
    NEITHER = "fails on both"
    SKIPPED = "skipped"


WORSE = (Verdict.WORSE, Verdict.FLAKY_HERE)
"""Verdicts that fail a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    test: str
    kafka: tuple[Result, ...]
    penstock: tuple[Result, ...]
    verdict: Verdict
    reason: str = ""


def to_run_again(suite: str, kafka: Run, penstock: Run) -> list[str]:
    """Tests that failed or did not end on one of the two, unless that is what was expected."""
    again = []
    for test in sorted({*kafka, *penstock}):
        on_kafka, on_penstock = (run.get(test, DID_NOT_END).outcome for run in (kafka, penstock))
        as_expected = on_kafka is Outcome.PASSED and reason_of(suite, test) is not None
        if Outcome.FAILED in (on_kafka, on_penstock) and not as_expected:
            again.append(test)
    return again


def compare(suite: str, kafka: Sequence[Run], penstock: Sequence[Run]) -> list[Compared]:
    """Every test of a suite with its verdict. The second run on each is that of failures, alone."""
    again = to_run_again(suite, kafka[0], penstock[0])
    return [
        _judged(suite, test, _ends(test, kafka, again), _ends(test, penstock, again))
        for test in sorted({*kafka[0], *penstock[0]})
    ]


def _ends(test: str, runs: Sequence[Run], again: Sequence[str]) -> tuple[Result, ...]:
    counted = runs if test in again else runs[:1]
    return tuple(run.get(test, DID_NOT_END) for run in counted)


def _judged(suite: str, test: str, kafka: tuple[Result, ...], penstock: tuple[Result, ...]) -> Compared:
    reason = reason_of(suite, test) or ""
    on_kafka, on_penstock = ({result.outcome for result in results} for results in (kafka, penstock))
    if len(on_penstock) > 1 and on_kafka == {Outcome.PASSED}:
        reason = flaky_reason_of(suite, test) or ""
        verdict = Verdict.FLAKY_KNOWN if reason else Verdict.FLAKY_HERE
    elif len(on_kafka) > 1 or len(on_penstock) > 1:
        verdict = Verdict.FLAKY
    elif Outcome.SKIPPED in on_kafka:
        verdict = Verdict.SKIPPED
    elif Outcome.PASSED in on_kafka:
        good = Outcome.PASSED in on_penstock
        verdict = Verdict.SAME if good else Verdict.WORSE
        if reason:
            verdict = Verdict.LISTED_BUT_PASSES if good else Verdict.EXPECTED
    else:
        verdict = Verdict.BETTER if Outcome.PASSED in on_penstock else Verdict.NEITHER
    return Compared(test=test, kafka=kafka, penstock=penstock, verdict=verdict, reason=reason)


def counts(compared: Sequence[Compared]) -> Counter[Verdict]:
    return Counter(one.verdict for one in compared)
