"""The comparison itself: what it must see, what it must not mind, and that nothing is lost on the way to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.differential import vectors
from tests.differential.comparison import compare
from tests.differential.coverage import FAILURE, SUCCESS, covered, verdict
from tests.differential.normal import normalised
from tests.differential.transcript import Step, Transcript
from tests.support.batches import now_ms

NOW_MS = now_ms()


def steps(*answers: Any, api: str = "metadata") -> list[tuple[str, Any]]:
    transcript = Transcript(script="s", times={NOW_MS: "T+0"})
    transcript.steps = [Step(api=api, version=1, label="", request=None, answer=answer) for answer in answers]
    return normalised(transcript)


def differs(kafka: Any, penstock: Any) -> bool:
    return bool(compare("s", steps(kafka), steps(penstock)).differences)


@pytest.mark.parametrize(
    ("kafka", "penstock"),
    [
        ({"error_code": 0}, {"error_code": 3}),
        ({"throttle_time": 0}, {"throttle_time": 1}),
        ({"rows": None}, {"rows": []}),
        ({"text": None}, {"text": ""}),
        ({"error_message": None}, {"error_message": "why"}),
        ({"flag": False}, {"flag": 0}),
        ({"rows": [1, 2]}, {"rows": [2, 1]}),
        ({"topic_id": None}, {"topic_id": "a"}),
        ({"producer_id": -1}, {"producer_id": 4}),
        ({"timestamp": -1}, {"timestamp": NOW_MS + 1}),
        ({"timestamp": NOW_MS}, {"timestamp": NOW_MS + 1}),
        ({"timestamp": 4_000}, {"timestamp": 4_001}),
        ({"host": "", "port": -1}, {"host": "b", "port": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"closed": True}, {"silent": True}),
    ],
)
def test_these_are_differences(kafka: Any, penstock: Any) -> None:
    assert differs(kafka, penstock)


@pytest.mark.parametrize(
    ("kafka", "penstock"),
    [
        ({"error_message": "why"}, {"error_message": "because"}),
        ({"timestamp": NOW_MS + 2}, {"timestamp": NOW_MS + 1}),
        ({"host": "a", "port": 1}, {"host": "b", "port": 2}),
        ({"topics": [{"name": "a"}, {"name": "b"}]}, {"topics": [{"name": "b"}, {"name": "a"}]}),
        ({"topics": [{"name": "x-other-a"}]}, {"topics": []}),
    ],
)
def test_these_are_not(kafka: Any, penstock: Any) -> None:
    assert not differs(kafka, penstock)


def test_an_id_stays_the_same_through_a_transcript() -> None:
    def seen(*ids: str) -> list[tuple[str, Any]]:
        return steps(*({"member_id": each} for each in ids), api="join_group")

    assert seen("a", "b", "a") == seen("c", "d", "c")
    assert seen("a", "b", "a") != seen("c", "d", "d")


def test_a_missing_step_is_a_difference() -> None:
    assert compare("s", steps({}, {}), steps({})).differences
    assert compare("s", steps({}), steps({}, {})).differences


def test_what_counts_as_success_and_failure() -> None:
    assert verdict({"rows": [{"error_code": 0}]}) == SUCCESS
    assert verdict({"rows": [{"error_code": 0}, {"error_code": 3}]}) == FAILURE
    assert verdict({"silent": True}) is None
    found = covered([("fetch v4: a", {"error_code": 0}), ("fetch v4: b", {"closed": True}), ("list_groups v0: c", {})])
    assert found == {("fetch", 4, SUCCESS), ("list_groups", 0, SUCCESS)}, "a closed connection is no answer of Fetch"


def test_vectors_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "DIRECTORY", tmp_path)
    long: Any = {"text": "a" * 200}
    written: dict[str, vectors.Steps] = {
        "one": [("fetch v4", long), ("fetch v4", {"a": None})],
        "two": [("fetch v5", {}), ("fetch v5", long)],
    }
    vectors.write("family", written)
    assert (tmp_path / "family.json").read_text().count("a" * 200) == 1
    assert vectors.read("family") == written
    vectors.read.cache_clear()
