"""One value as the user gave it, and the problems of such values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple


class GivenValue(NamedTuple):
    """One value as the user gave it, and where: 'kafka.port', '9093', 'environment variable BROKER_PORT'."""

    key: str
    value: object
    origin: str


class Problems(list[str]):
    """The problems, one sentence each; a user sees all of them at once."""

    def unknown(self, name: str, origin: str, known: Iterable[str]) -> None:
        """Report an unknown name, with the nearest known one; one of the same section, if there is any."""
        names = list(known)
        section = name.rpartition(".")[0]
        siblings = [each for each in names if section and each.startswith(section + ".")]
        close = difflib.get_close_matches(name, siblings, n=1) or difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else "`penstock config show` lists every setting"
        self.append(f"{origin}: unknown setting {name}; {hint}")
