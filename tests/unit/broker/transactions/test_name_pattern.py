"""Patterns over transactional ids: what is taken, and what would take too long."""

from __future__ import annotations

import asyncio

import pytest

from penstock.broker.transactions.name_pattern import PATTERN_LENGTH_MAX, NamePattern
from penstock.model.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.feature("K-07")


def matches(pattern: str, name: str) -> bool:
    return asyncio.run(NamePattern(pattern).matches(name))


@pytest.mark.parametrize("length", [1, 20_000])  # on the loop, and in a thread
def test_the_whole_name_has_to_match(length: int) -> None:
    name = "a" * length
    assert matches("a+", name)
    assert matches("(a|b)*", name)
    assert not matches("a+", name + "b")
    assert not matches("a", name + "a")


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "(?=x)",
        r"(a)\1",
        "x{1,2000}",
        "a" * (PATTERN_LENGTH_MAX + 1),
        pytest.param("(a?){500}" * 30, id="a second for each name"),
        pytest.param("(x{1,200}){1,200}", id="40,000 steps"),
    ],
)
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(KafkaError) as refused:
        NamePattern(pattern)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
