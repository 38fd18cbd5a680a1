"""Text of clients and files for terminals and logs: characters that would move the cursor, change colours, begin a line
or reverse what stands around them are shown as escapes.

Names of groups, client ids and the like are any text in Kafka, and an administrator looks at them on a terminal. The
characters are C0 and C1 controls, DEL, the line and paragraph separators, marks and overrides of writing direction, the
byte order mark, and halves of surrogate pairs, which no stream can encode.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_OTHERS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_UNSAFE = re.compile(f"[\\t\\n{_CONTROLS}{_OTHERS}]")
_UNSAFE_IN_LINES = re.compile(f"[{_CONTROLS}{_OTHERS}]")
_UNSAFE_IN_JSON = re.compile(f"[\x7f-\x9f{_OTHERS}]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """The text on one line."""
    return _UNSAFE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """The text with its line breaks and tabs as they are."""
    return _UNSAFE_IN_LINES.sub(_escape, text)


def printable_json(document: str) -> str:
    """A JSON document of the same meaning: such characters occur in strings only, where JSON has escapes for them."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
