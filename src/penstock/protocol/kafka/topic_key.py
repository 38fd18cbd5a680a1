"""The key of a topic in Produce and Fetch, and the grouping of an answer's rows by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

TopicKey = str | bytes
"""The name, or the 16 bytes of the id from v13 of either API on."""


class Row(Protocol):
    @property
    def topic(self) -> TopicKey: ...


AnyRow = TypeVar("AnyRow", bound=Row)


def by_topic(rows: Sequence[AnyRow]) -> list[tuple[TopicKey, list[AnyRow]]]:
    """Group neighbouring rows of one topic; rows come in the order of the request."""
    groups: list[tuple[TopicKey, list[AnyRow]]] = []
    for row in rows:
        if groups and groups[-1][0] == row.topic:
            groups[-1][1].append(row)
        else:
            groups.append((row.topic, [row]))
    return groups
