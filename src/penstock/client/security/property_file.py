"""Properties of a client in a file, as Kafka's tools read them (java.util.Properties): NAME=VALUE in each line.

A name ends at the first =, colon, space or tab. Lines that begin with # or ! are remarks. A line that ends with a
backslash, or with another odd number of them, goes on in the next one, as a long `sasl.jaas.config` does in many files.

What Java does besides would break the passwords of librdkafka's users, whose files have no escapes: backslashes of a
value are what they are, but for names that only Java's clients have (`JAVA_NAMES`). A line that is a single word is no
empty property, but a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock.client.security.properties import SecurityProblem

JAVA_NAMES: Final = frozenset(
    {
        "sasl.jaas.config",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    }
)
"""Properties of security that librdkafka does not have: their values have Java's escapes."""

_BLANK: Final = " \t\f"
_BREAK: Final = re.compile(r"\r\n|[\r\n]")
_PROPERTY: Final = re.compile(r"([^=: \t\f]+)(?:[ \t\f]*[=:]|[ \t\f]+(?=[^ \t\f]))(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """SecurityProblem with the number of a line that is no property, and nothing of its text."""
    found = {}
    for number, line in _lines(text):
        match = _PROPERTY.fullmatch(line)
        if match is None:
            raise SecurityProblem(f"line {number} is not NAME=VALUE")
        name, value = match[1], match[2].strip(_BLANK)
        try:
            found[name] = _unescaped(match[2]).strip(_BLANK) if name in JAVA_NAMES else value
        except ValueError:
            raise SecurityProblem(f"line {number} has a \\u that is no character in Java's notation") from None
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that have been put together, with the number of the last one of each."""
    begun, lines = "", _BREAK.split(text)
    if not lines[-1]:
        lines.pop()  # behind the last line break
    for number, line in enumerate(lines, 1):
        whole = begun + line.lstrip(_BLANK)
        if not begun and (not whole or whole.startswith(("#", "!"))):
            continue
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            begun = whole[:-1]
            continue
        begun = ""
        yield number, whole
    if begun:
        raise SecurityProblem("the last line goes on behind the end of the file")


def _unescaped(text: str) -> str:
    """A value without the escapes of java.util.Properties; ValueError."""
    units = _ESCAPE.sub(_meant, text)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")  # a character may be two \\u of Java's


def _meant(escape: re.Match[str]) -> str:
    letter = escape[1]
    if letter.startswith("u"):
        if letter == "u":
            raise ValueError("a number has four hexadecimal digits")
        return chr(int(letter[1:], 16))
    return _LETTERS.get(letter, letter)
