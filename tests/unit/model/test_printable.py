"""Text of strangers for terminals and logs."""

import json

import pytest

from penstock.model.text.printable import printable, printable_json, printable_lines

UNSAFE = [
    *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\ufeff",
    *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\ud800", "\udfff",
]  # fmt: skip


@pytest.mark.parametrize("character", UNSAFE)
def test_what_a_terminal_would_obey_is_escaped(character: str) -> None:
    text = printable(f"a{character}b")
    assert character not in text
    assert text.isprintable()
    assert text.encode().decode("unicode_escape") == f"a{character}b"
    if character not in "\n\t":
        assert printable_lines(f"a{character}b") == text
    document = printable_json(json.dumps({character: [character]}, ensure_ascii=False, indent=2))
    assert json.loads(document) == {character: [character]}
    assert character == "\n" or character not in document


@pytest.mark.parametrize("text", ["", "plain", "Grüße, 世界", "👩‍👩‍👧 e\u0301", "back\\slash", "a\u00a0b"])
def test_everything_else_stays(text: str) -> None:
    assert printable(text) == printable_lines(text) == text
    assert printable_json(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


def test_lines_and_tabs_stay_where_they_are_wanted() -> None:
    assert printable_lines("a\n\tb\r\x1b[31m") == "a\n\tb\\r\\x1b[31m"
