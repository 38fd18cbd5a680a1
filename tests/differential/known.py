"""What is deliberately not the same, and why: the only differences that the comparison lets pass.

Every row names the line of docs/compatibility.md that tells users about it (`row` is text of that line), and a row
that no longer happens must go. APIs that Penstock does not have are a table of their own, which ApiVersions shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    script: str  # patterns, as of a shell
    step: str
    path: str
    row: str
    kafka: Any = ...  # any value, unless one is given
    penstock: Any = ...


NOT_THERE: Mapping[int, str] = {  # API key: the line of docs/compatibility.md that says why
}

DELIBERATE: tuple[Known, ...] = ()

KNOWN: tuple[Known, ...] = (
    *DELIBERATE,
    *(
        Known(script="api-versions-*", step="*", path=f"api_keys[api_key={key}]", row=row, penstock="<absent>")
        for key, row in NOT_THERE.items()
    ),
)
