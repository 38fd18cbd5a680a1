"""The level of a node in the hierarchy: data goes down from ROOT, and the rules look for parents above."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    ROOT = "ROOT"
    L2 = "L2"
    L3 = "L3"
    POS = "POS"
    LOCAL = "LOCAL"

    @property
    def level(self) -> int:
        """The level, 0 at the top."""
        return _LEVELS[self]


_LEVELS = {role: level for level, role in enumerate(Role)}
