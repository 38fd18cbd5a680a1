"""How results of suites are read and judged, without fetching or running any."""

import json
from pathlib import Path

import pytest

from tests.suites import comparison, expected, record, reports, table
from tests.suites.catalogue import SUITES
from tests.suites.comparison import Verdict
from tests.suites.librdkafka import from_output
from tests.suites.suite import Outcome, Result

PASSED = Result(outcome=Outcome.PASSED)
FAILED = Result(outcome=Outcome.FAILED)
SKIPPED = Result(outcome=Outcome.SKIPPED)


@pytest.mark.parametrize(
    ("kafka", "penstock", "verdict"),
    [
        ((PASSED,), (PASSED,), Verdict.SAME),
        ((PASSED, PASSED), (FAILED, FAILED), Verdict.WORSE),
        ((PASSED, PASSED), (FAILED, PASSED), Verdict.FLAKY_HERE),
        ((PASSED, FAILED), (FAILED, PASSED), Verdict.FLAKY),
        ((FAILED, FAILED), (FAILED, PASSED), Verdict.FLAKY),
        ((FAILED, PASSED), (FAILED, FAILED), Verdict.FLAKY),
        ((FAILED, FAILED), (FAILED, FAILED), Verdict.NEITHER),
        ((FAILED, FAILED), (PASSED, PASSED), Verdict.BETTER),
        ((SKIPPED,), (SKIPPED,), Verdict.SKIPPED),
        ((PASSED, PASSED), (SKIPPED, SKIPPED), Verdict.WORSE),
    ],
)
def test_a_pair_of_results_has_one_verdict(
    kafka: tuple[Result, ...], penstock: tuple[Result, ...], verdict: Verdict
) -> None:
    runs = [[{"a": result} for result in results] for results in (kafka, penstock)]
    (one,) = comparison.compare("no suite", *runs)
    assert one.verdict is verdict


def test_a_test_that_never_ends_is_a_failure() -> None:
    (one,) = comparison.compare("no suite", [{"a": PASSED}, {"a": PASSED}], [{}, {}])
    assert one.verdict is Verdict.WORSE
    assert one.penstock[0].message == "did not end"


def test_a_listed_test_is_expected_to_fail_and_noticed_when_it_passes() -> None:
    name = "TestConsumerGroupWithTopic"
    (fails,) = comparison.compare("kafka-go", [{name: PASSED}] * 2, [{name: FAILED}] * 2)
    (passes,) = comparison.compare("kafka-go", [{name: PASSED}], [{name: PASSED}])
    assert (fails.verdict, passes.verdict) == (Verdict.EXPECTED, Verdict.LISTED_BUT_PASSES)
    assert fails.reason == expected.LATE_WATCHER


def test_flaky_here_only_fails_the_run_unless_it_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [[{"a": PASSED}] * 2, [{"a": FAILED}, {"a": PASSED}]]
    (unlisted,) = comparison.compare("franz-go", *runs)
    monkeypatch.setattr(expected, "FLAKY", (expected.Expected("franz-go", "a", "a race in the test"),))
    (listed,) = comparison.compare("franz-go", *runs)
    assert (unlisted.verdict, listed.verdict) == (Verdict.FLAKY_HERE, Verdict.FLAKY_KNOWN)
    assert listed.reason == "a race in the test"
    assert unlisted.verdict in comparison.WORSE
    assert listed.verdict not in comparison.WORSE


def test_a_suite_that_was_not_run_here_keeps_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are not in the repository, so on another machine the page is all that is known of a suite."""
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    known = {"TestConsumerGroupWithTopic": PASSED, "TestConn": PASSED}
    failing = {"TestConsumerGroupWithTopic": FAILED, "TestConn": PASSED}
    record.keep(SUITES["kafka-go"], comparison.compare("kafka-go", [known], [failing]), seconds=1.0)
    old = "| franz-go 1.22.2 | Go module | 74 | 63 | 11 | 0 | 0 | 0 | 2026-11-16 |"
    reason = "- franz-go: share groups (KIP-932) (5)"
    page = f"| franz-go of another table |\n<!-- suites -->\n{old}\n\n{reason}\n<!-- end of suites -->\n"
    made = table.lines(page)
    assert [line for line in made if "franz-go" in line] == [old, reason]
    assert f"- kafka-go: {expected.LATE_WATCHER} (1)" in made
    assert sum(line.startswith("| segmentio/kafka-go") for line in made) == 1


def test_only_suites_that_exist_are_listed() -> None:
    assert {one.suite for one in (*expected.EXPECTED, *expected.FLAKY)} <= set(SUITES)


def test_go_counts_leaves_and_what_did_not_end() -> None:
    events = [
        {"Action": "run", "Test": "TestA"},
        {"Action": "run", "Test": "TestA/one"},
        {"Action": "pass", "Test": "TestA/one", "Elapsed": 0.5},
        {"Action": "run", "Test": "TestA/two"},
        {"Action": "output", "Test": "TestA/two", "Output": "    a_test.go:7: wrong\n"},
        {"Action": "fail", "Test": "TestA/two"},
        {"Action": "fail", "Test": "TestA"},
        {"Action": "run", "Test": "TestB"},
    ]
    results = reports.from_go([json.dumps(event) for event in events])
    assert {name: result.outcome for name, result in results.items()} == {
        "TestA/one": Outcome.PASSED,
        "TestA/two": Outcome.FAILED,
        "TestB": Outcome.FAILED,
    }
    assert results["TestA/two"].message == "a_test.go:7: wrong"


def test_librdkafka_says_how_tests_ended_in_its_output() -> None:
    text = (
        "\x1b[32m[0001_multiobj      /  2.491s] ================= Test 0001_multiobj PASSED =================\n"
        '\x1b[31m### Test "0081_admin (do_test_CreateAcls:1539)" failed at 0081-admin.c:1622:f() at Mon: ###\n'
        "Expected something else\n"
    )
    results = from_output(text)
    assert results["0001_multiobj"] == Result(outcome=Outcome.PASSED, seconds=2.491)
    assert results["0081_admin"] == Result(outcome=Outcome.FAILED, message="Expected something else")


def test_junit_failures_errors_and_skips(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text(
        "<testsuites><testsuite>"
        "<testcase classname='m' name='good' time='1.5'/>"
        "<testcase classname='m' name='bad'><failure message='no'/></testcase>"
        "<testcase classname='m' name='worse'><error message='oh'/></testcase>"
        "<testcase classname='m' name='left'><skipped message='why'/></testcase>"
        "</testsuite></testsuites>"
    )
    found = {name: (result.outcome.value, result.message) for name, result in reports.from_junit(file).items()}
    assert found == {
        "m::good": ("passed", ""),
        "m::bad": ("failed", "no"),
        "m::worse": ("failed", "oh"),
        "m::left": ("skipped", "why"),
    }


def test_a_suite_that_did_not_run_keeps_its_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "kept", list)
    page = table.PAGE.read_text(encoding="utf-8")
    reasons = page.partition("Known to fail:")[2].partition("Looked into and not run:")[0]
    assert " ".join(reasons.split()) in " ".join(" ".join(table.lines(page)).split())
