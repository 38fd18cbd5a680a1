"""Patterns of Java find here what they find there: the same answers as java.util.regex gives, or a refusal by name."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock_spark.errors import BadOption
from penstock_spark.reading.patterns.errors import NotAPattern, NotPossible
from penstock_spark.reading.patterns.java_pattern import java_pattern
from penstock_spark.reading.planning.selection import parse_selection

SOURCE = Path(__file__).with_name("JavaPatterns.java")
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")


class Java:
    """java.util.regex in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def find(self, pattern: str, names: list[str]) -> list[bool] | None:
        """Whether the pattern is found in each name; None if it does not compile."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = (base64.b64encode(text.encode()).decode() for text in (pattern, *names))
        print(*words, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().strip()
        assert answer, "Java has ended"
        return None if answer in ("refused", "broken") else [sign == "1" for sign in answer[1:]]


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    command = ["java", "-Xint", str(SOURCE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Java(process)
        process.communicate()


def ours(pattern: str, names: list[str]) -> list[bool] | None:
    try:
        found = java_pattern(pattern)
    except NotAPattern:
        return None
    return [found.search(name) is not None for name in names]


def check(java: Java, pattern: str, names: list[str]) -> None:
    theirs = java.find(pattern, names)
    try:
        found = ours(pattern, names)
    except NotPossible:
        return  # named, and not guessed
    if theirs is None and "(?<" in pattern:
        return  # Java refuses some look-behinds whose length does not vary
    assert found == theirs, pattern


names = st.lists(st.text("abAB01._-", min_size=1, max_size=8), min_size=1, max_size=8)

# --- patterns that make sense ----------------------------------------------------------------------------------------

singles = st.sampled_from(
    ["a", "b", "A", "B", "0", "1", "-", "_", r"\.", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\h", r"\H", r"\v",
     r"\V", r"\x61", r"\x{62}", r"\u0041", r"\0101", r"\p{Alpha}", r"\P{Alpha}", r"\p{L}", r"\pL", r"\p{Lu}", r"\PL",
     r"\p{IsAlphabetic}", r"\p{Punct}", r"\p{javaLowerCase}", r"\p{IsLatin}", r"\p{Upper}", r"\p{IsUppercase}",
     r"\p{gc=Nd}", r"\p{sc=Common}", r"\p{InBasicLatin}", r"\Qa.\E", r"\Q-\E", "K", r"\N{LATIN SMALL LETTER A}"]
)  # fmt: skip
edges = st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", r"\R", r"\X", ""])
of_classes = st.sampled_from(
    ["a", "b", "A", "0", "_", "-", ".", "a-z", "A-Z", "0-9", "a-b", r"\d", r"\w", r"\W", r"\p{Upper}", r"\P{L}", "&",
     "^", r"\-", r"\]", r"\Q]\E", r"\x61-b"]
)  # fmt: skip


def brackets(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(["[", "[^"]), inner).map(lambda parts: f"{parts[0]}{parts[1]}]")


def joined(inner: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(inner, min_size=1, max_size=most).map("".join)


classes = st.recursive(
    brackets(joined(of_classes)),
    lambda inner: brackets(
        joined(of_classes | inner) | st.tuples(joined(of_classes | inner), inner | joined(of_classes)).map("&&".join)
    ),
    max_leaves=4,
)
quantifiers = st.tuples(
    st.sampled_from(["?", "*", "+", "{2}", "{1,}", "{0,2}", "{1,3}"]), st.sampled_from(["", "?", "+"])
).map("".join)
OPENINGS = ("(", "(?:", "(?<n>", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?iu:", "(?-i:", "(?x:")
flags = st.sampled_from(["(?i)", "(?iu)", "(?-i)", "(?m)", "(?s)", "(?d)", "(?U)", "(?x)"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        joined(inner | flags)
        | st.tuples(inner, inner).map("|".join)
        | st.tuples(st.sampled_from(OPENINGS), inner).map(lambda parts: f"{parts[0]}{parts[1]})")
        | st.tuples(st.sampled_from(OPENINGS[:8]), inner, quantifiers).map(
            lambda parts: f"{parts[0]}{parts[1]}){parts[2]}"
        )
        | st.tuples(singles | classes, quantifiers).map("".join)
    )


without_references = st.recursive(singles | classes | edges, larger, max_leaves=8)
patterns = without_references | without_references.map(lambda text: f"({text})\\1")


@needs_java
@pytest.mark.feature("S-01")
@pytest.mark.timeout(300)
@settings(max_examples=500, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(pattern=patterns, names=names)
@example(pattern="[a-z&&[^b]]", names=["a", "b"])
@example(pattern="(?i)[^a-c]", names=["A", "B", "d"])
@example(pattern="[a&&[ab]&c]", names=["a", "b", "c"])
@example(pattern="(?x)a b # and more\n c", names=["abc", "ab"])
@example(pattern="((0)+){2}+", names=["00", "000"])
def test_a_pattern_finds_what_it_finds_in_java(java: Java, pattern: str, names: list[str]) -> None:
    check(java, pattern, names)


TOKENS = [
    *r"abA01-_.^$|?*+()[]{}\&,<>=!:#", "\\Q", "\\E", "\\d", "\\p", "\\b", "\\1", "\\12", "\\k<n>", "(?", "(?<", "(?<n>",
    "&&", "{2}", "{1,", "[^", "\\x", "\\0", "\\c", "i", "n", "L", "é", " ", "\\ ",
]  # fmt: skip


@needs_java
@pytest.mark.timeout(300)
@settings(max_examples=1000, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(pattern=st.lists(st.sampled_from(TOKENS), max_size=8).map("".join), names=names)
def test_signs_in_any_order_are_a_pattern_where_java_says_so(java: Java, pattern: str, names: list[str]) -> None:
    check(java, pattern, names)


# --- what is said about a pattern ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "is no regular expression of Java: a group is not closed by )"),
        ("a)", "a ) closes no group"),
        ("*a", "* has nothing to repeat"),
        ("[a", "a class of characters is not closed by ]"),
        ("[b-a]", "a range of characters ends before it begins"),
        (r"\y", r"there is no escape \y"),
        (r"\p{Alfa}", "there is no character property Alfa"),
        ("a{2,1}", "there is no repetition from 2 to 1"),
        ("a{x}", r"{ is followed by no number: \{ is the character"),
        (r"\k<n>(?<n>a)", "there is no group n before"),
        ("a\\", "it ends with a backslash"),
        ("(?<=a+)b", "has a part that cannot be done here: a look-behind whose length varies"),
        (r"(a\1)", "a reference to a group that is not closed before it"),
        (r"\p{IsGreek}", "the script Greek"),
        ("", "subscribePattern is empty"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_said_in_a_sentence(pattern: str, reason: str) -> None:
    with pytest.raises(BadOption) as refusal:
        parse_selection(None, pattern, None)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)
