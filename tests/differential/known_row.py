"""One known difference: where it is, what both brokers say, and which line of docs/compatibility.md tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    script: str  # patterns, as of a shell
    step: str
    path: str
    row: str
    kafka: Any
    penstock: Any


class Holding:
    """Stands for any mapping that has these keys, with these values where they are given."""

    def __init__(self, *keys: str, **values: Any) -> None:
        self._keys, self._values = keys, values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return False
        return all(key in other for key in self._keys) and self._values.items() <= other.items()

    def __hash__(self) -> int:
        return hash(self._keys)


TEXT, ABSENT, SILENT = "<text>", "<absent>", {"silent": True}


def refused(*, script: str, step: str, code: int, row: str) -> tuple[Known, Known]:
    """A config that Kafka takes and Penstock does not."""
    where = {"script": script, "step": step, "row": row}
    return (
        Known(**where, path="responses*.error_code", kafka=0, penstock=code),
        Known(**where, path="responses*.error_message", kafka=None, penstock=TEXT),
    )


def answered(*, script: str, step: str, row: str, **fields: tuple[Any, Any]) -> tuple[Known, ...]:
    """The answer about a batch that the two do not treat alike: (Kafka, Penstock) by field."""
    return tuple(
        Known(
            script=script,
            step=f"produce v*: {step}",
            path=f"responses*.{name}",
            kafka=kafka,
            penstock=penstock,
            row=row,
        )
        for name, (kafka, penstock) in fields.items()
    )
