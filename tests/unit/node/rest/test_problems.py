"""Every error has a status, and its text ends with what to do."""

from __future__ import annotations

import pytest

from penstock.model.errors import ErrorCode, KafkaError
from penstock.node.rest.parameters import milliseconds
from penstock.node.rest.problems import error_text


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_is_told_with_a_remedy(code: ErrorCode) -> None:
    for error in (KafkaError(code), KafkaError(code, "Kafka's words.")):
        what, _, remedy = error_text(error).partition("; ")
        assert what
        assert remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1772355600000", 1_772_355_600_000),
        ("2026-03-01T09:00:00Z", 1_772_355_600_000),
        ("2026-03-01T09:00:00", 1_772_355_600_000),
        ("2026-03-01T10:00:00.250+01:00", 1_772_355_600_250),
        ("1970-01-02", 86_400_000),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "now", "2026-02-30", "2026-03-01T25:00", "999999999999999", "0000-01-01"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="write 2026-03-01T09:00:00Z"):
        milliseconds(text)
