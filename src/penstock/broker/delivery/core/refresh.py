"""A refresh: everything from the beginning once more, until the members say that they are ready.

`ends` are the ends of the partitions at the moment it was asked for. The id rises with every refresh of a subscription.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Refresh(NamedTuple):
    refresh_id: int
    ends: Mapping[int, int]


def encode_ends(ends: Mapping[int, int]) -> str:
    """As meta.db keeps them: `partition:end` with blanks between."""
    return " ".join(f"{partition}:{end}" for partition, end in sorted(ends.items()))


def decode_ends(text: str) -> dict[int, int]:
    pairs = (item.split(":") for item in text.split())
    return {int(partition): int(end) for partition, end in pairs}
