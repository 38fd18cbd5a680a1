"""Rules from the subject of a certificate to a principal's name: Kafka's ssl.principal.mapping.rules.

    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),.*$/$1@other/L,DEFAULT

The first rule whose pattern fits the whole subject gives the name; L and U change its case. DEFAULT is the subject
itself. Without a fitting rule the client is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.security.principal import Principal

_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)|\\$")


class NoRuleFits(Exception):
    """No rule makes a principal of this subject."""


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None  # None: DEFAULT
    replacement: str = ""
    case: str = ""

    def name_of(self, subject: str) -> str | None:
        if self.pattern is None:
            return subject
        match = self.pattern.fullmatch(subject)
        if match is None:
            return None
        name = _REFERENCE.sub(lambda found: _group(match, found), self.replacement)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


class PrincipalRules:
    """The rules of a listener, in their order."""

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules = rules

    @classmethod
    def parse(cls, text: str) -> PrincipalRules:
        """ValueError if a rule is malformed."""
        rules, position = [], 0
        while position < len(text.rstrip()):
            match = _RULE.match(text, position)
            if match is None:
                raise ValueError(f"expected DEFAULT or RULE:pattern/replacement/[LU], not {text[position:]!r}")
            default, pattern, replacement, case = match.groups()
            rules.append(_Rule(None) if default else _Rule(_compiled(pattern), replacement, case))
            position = match.end()
        return cls(rules or [_Rule(None)])

    def principal(self, subject: str) -> Principal:
        for rule in self._rules:
            name = rule.name_of(subject)
            if name is not None:
                return Principal("User", name)
        raise NoRuleFits(f"no rule of ssl.principal.mapping.rules fits the subject {subject!r}")


DEFAULT: Final = PrincipalRules([_Rule(None)])
"""The principal's name is the subject."""


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is wrong: {error}") from None


def _group(match: re.Match[str], reference: re.Match[str]) -> str:
    """The text of $1, or an escaped character; $7 of a pattern with two groups is those two characters, as in Kafka."""
    if reference[2] is None:
        return reference[1] or "\\"
    number = int(reference[2])
    return (match[number] or "") if number <= match.re.groups else reference[0]
