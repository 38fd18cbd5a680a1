"""The table of features never says more than the tests prove."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.features import (
    FeatureError,
    Fingerprints,
    Results,
    all_features,
    load_sections,
    mark_problems,
    proof_problems,
    render,
    unclaimed,
    written_marks,
)

CLAIMS = """
[[section]]
title = "The log"
features = [
  { id = "P-01", state = "works", text = "segments | files", see = "`ls`" },
  { id = "P-02", state = "not yet", text = "an index", see = "" },
]
"""
TEST = "tests/unit/test_log.py::test_roll"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "log.py").write_text("x = 1\n")
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_log.py").write_text("def test_roll(): pass\n")
    (tmp_path / "claims.toml").write_text(CLAIMS)
    return tmp_path


def results_of(root: Path) -> Results:
    return Results(root / "results.json", Fingerprints(root))


def record(root: Path, **outcomes: str) -> None:
    results = results_of(root)
    results.record({f"tests/unit/test_log.py::{name}": outcome for name, outcome in outcomes.items()})
    results.save()


def test_the_claims_of_the_project_are_well_formed() -> None:
    features = all_features(load_sections())
    assert len(features) >= 96
    assert all(feature.text and feature.id[1] == "-" for feature in features)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [("P-02", "P-01", "listed twice"), ('"not yet"', '"soon"', 'state "soon"')],
)
def test_bad_claims_are_refused(root: Path, old: str, new: str, complaint: str) -> None:
    path = root / "claims.toml"
    path.write_text(CLAIMS.replace(old, new))
    with pytest.raises(FeatureError, match=complaint):
        load_sections(path)


def test_a_mark_must_name_a_listed_feature(root: Path) -> None:
    sections = load_sections(root / "claims.toml")
    problems = mark_problems(sections, {"P-01": [TEST], "Z-99": [TEST]})
    assert problems == [f"{TEST} names Z-99, which docs/features.toml does not list"]


def test_a_claim_without_a_test_is_a_problem(root: Path) -> None:
    sections = load_sections(root / "claims.toml")
    assert len(mark_problems(sections, {"P-02": [TEST]})) == 1
    assert mark_problems(sections, {"P-01": [TEST]}) == []


@pytest.mark.parametrize(
    ("outcomes", "proved"),
    [
        ({}, False),
        ({"test_roll": "passed"}, False),
        ({"test_roll": "passed", "test_read": "passed"}, True),
        ({"test_roll": "passed", "test_read": "skipped"}, True),
        ({"test_roll": "passed", "test_read": "failed"}, False),
        ({"test_roll": "skipped", "test_read": "skipped"}, False),
    ],
)
def test_a_claim_needs_a_passing_test_and_no_failing_one(root: Path, outcomes: dict[str, str], proved: bool) -> None:
    record(root, **outcomes)
    marks = {"P-01": [TEST, "tests/unit/test_log.py::test_read"]}
    problems = proof_problems(load_sections(root / "claims.toml"), marks, results_of(root))
    assert (not problems) is proved


@pytest.mark.parametrize("changed", ["src/log.py", "tests/unit/test_log.py"])
def test_a_result_is_void_once_the_source_or_the_test_has_changed(root: Path, changed: str) -> None:
    record(root, test_roll="passed")
    assert results_of(root).outcome(TEST) == "passed"
    (root / changed).write_text("x = 2\n")
    assert results_of(root).outcome(TEST) == "no current result"


def test_results_of_several_runs_add_up(root: Path) -> None:
    record(root, test_roll="failed")
    record(root, test_read="passed")
    assert results_of(root).outcome(TEST) == "failed"
    record(root, test_roll="passed")
    assert results_of(root).outcome(TEST) == "passed"


def test_damaged_results_count_as_none(root: Path) -> None:
    (root / "results.json").write_text("{")
    assert results_of(root).outcome(TEST) == "no current result"


def test_passing_tests_of_an_unclaimed_feature_are_pointed_out(root: Path) -> None:
    record(root, test_roll="passed")
    sections = load_sections(root / "claims.toml")
    assert unclaimed(sections, {"P-02": [TEST]}, results_of(root)) == ["P-02"]


def test_the_table_links_each_test_file_once(root: Path) -> None:
    table = render(load_sections(root / "claims.toml"), {"P-01": [f"{TEST}[1]", f"{TEST}[2]"]})
    assert "1 of 2 work" in table
    link = "[unit/test_log.py](../tests/unit/test_log.py)"
    assert f"| P-01 | segments &#124; files | works | `ls` | {link} |" in table
    assert "| P-02 | an index | not yet | | |" in table


MARKED = """
pytestmark = [pytest.mark.crash, pytest.mark.feature("P-01")]

@pytest.mark.feature("P-02", "P-03")
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.feature("P-04"))])
def test_roll(size): assert mark.feature("P-09")

def feature(): return other.feature("P-05")
"""


def test_marks_are_read_from_the_sources_by_file(root: Path) -> None:
    (root / "tests" / "unit" / "test_log.py").write_text(MARKED)
    (root / "tests" / "unit" / "log_rig.py").write_text(MARKED.replace("P-0", "Z-0"))
    assert written_marks(root) == {key: ["tests/unit/test_log.py"] for key in ("P-01", "P-02", "P-03", "P-04")}


def test_marks_that_cannot_be_read_are_refused(root: Path) -> None:
    (root / "tests" / "unit" / "test_log.py").write_text("pytestmark = pytest.mark.feature(*IDS)\n")
    with pytest.raises(FeatureError, match=r"test_log\.py:1: write the ids"):
        written_marks(root)
