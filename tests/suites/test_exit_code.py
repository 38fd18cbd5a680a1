"""A run ends with 0 only if nothing failed that is not expected to, and every suite ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.suites import __main__ as runs
from tests.suites import expected, record, table
from tests.suites.catalogue import SUITES
from tests.suites.suite import BrokerNeeds, Outcome, Result, Suite, Target

PASSED = {"test": Result(outcome=Outcome.PASSED)}
FAILED = {"test": Result(outcome=Outcome.FAILED)}
Ends = dict[str, Result]


class Pretended(Suite):
    """A suite of one test, whose end on each broker is known."""

    name, version, package, client = "pretended", "1", "nowhere", "pretended"

    def __init__(self, kafka: Ends, penstock: Ends) -> None:
        self._ends = {"kafka": kafka, "penstock": penstock}

    def prepare(self) -> None:
        """Nothing is fetched."""

    def fetch(self) -> None:
        raise RuntimeError("not to be fetched")

    def run(self, target: Target, only: Sequence[str] = ()) -> Ends:
        return self._ends[target.kind]


class Unfetched(Pretended):
    def prepare(self) -> None:
        self.fetch()


@contextmanager
def no_broker(kind: str, needs: BrokerNeeds, directory: Path) -> Iterator[Target]:
    yield Target(kind=kind, host="nowhere", port=0, directory=directory)


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    page = tmp_path / "page.md"
    page.write_text("<!-- suites -->\n<!-- end of suites -->\n")
    monkeypatch.setattr(table, "PAGE", page)
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(runs, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(runs, "running", no_broker)
    return page


@pytest.mark.parametrize(
    ("suite", "code"),
    [
        (Pretended(PASSED, PASSED), 0),
        (Pretended(FAILED, FAILED), 0),
        (Pretended(PASSED, FAILED), 1),
        (Pretended(PASSED, {"another": Result(outcome=Outcome.PASSED)}), 1),
        (Pretended(PASSED, {}), 1),
        (Unfetched(PASSED, PASSED), 1),
    ],
)
def test_what_passes_on_kafka_has_to_pass(monkeypatch: pytest.MonkeyPatch, suite: Suite, code: int) -> None:
    monkeypatch.setitem(SUITES, suite.name, suite)
    assert runs.main([suite.name]) == code


def test_what_is_expected_to_fail_may(monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    monkeypatch.setitem(SUITES, "pretended", Pretended(PASSED, FAILED))
    monkeypatch.setattr(expected, "EXPECTED", (expected.Expected("pretended", "test", "a reason"),))
    assert runs.main(["pretended"]) == 0
    assert "- pretended: a reason (1)" in page.read_text()


def test_one_suite_that_cannot_run_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    broken = Unfetched(PASSED, PASSED)
    monkeypatch.setitem(SUITES, "broken", broken)
    monkeypatch.setitem(SUITES, "pretended", Pretended(PASSED, PASSED))
    assert runs.main(["broken", "pretended"]) == 1
    assert "| pretended 1 | nowhere | 1 | 1 |" in page.read_text()
