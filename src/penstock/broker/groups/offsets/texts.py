"""The memory of the texts that clients commit with their offsets, which Kafka calls metadata.

Each text is short, but a client may commit one for every partition and group, and they stay for the retention time. So
there is a bound over all of them. Offsets without a text, which are nearly all, pay nothing for it: only what is added
is counted, and what was replaced or removed since is found by counting again, a group when it has doubled and all of
them when the bound is reached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from penstock.model.limits import KIB, OFFSET_TEXT_BYTES_MAX
from penstock.observability.repeats import NAME_LENGTH_MAX, Repeats

logger = logging.getLogger(__name__)

UNCOUNTED_BYTES_MAX: Final = 64 * KIB
"""Bytes that a group may add before it is counted again, however little it has."""
RECOUNT_INTERVAL_MS: Final = 10_000
"""Least time between two counts of all groups, each of which may take a while."""


class CommittedTexts:
    """Texts of all groups. `count` returns the bytes of those of a group that are stored."""

    def __init__(
        self, count: Callable[[str], int], now_ms: Callable[[], int], bytes_max: int = OFFSET_TEXT_BYTES_MAX
    ) -> None:
        self._count = count
        self._now_ms = now_ms
        self._bytes_max = bytes_max
        self._refusals = Repeats(logger)
        self._noted: dict[str, int] = {}  # at least the bytes of each group
        self._counted: dict[str, int] = {}  # as they were when they were last counted
        self._recounted_ms: int | None = None
        self.held_bytes = 0

    def take(self, group_id: str, text_bytes: int) -> bool:
        """Note texts that are about to be stored; False if there is no room for them."""
        noted = self._noted.get(group_id, 0)
        if noted + text_bytes > 2 * self._counted.get(group_id, 0) + UNCOUNTED_BYTES_MAX:
            self._recount(group_id)
        if self.held_bytes + text_bytes > self._bytes_max:
            self._recount_all()
        if self.held_bytes + text_bytes > self._bytes_max:
            self._refusals.warning(
                "no room",
                "texts committed with offsets take %d bytes, which is the most: group %s and others have to commit"
                " without a text; delete groups that are not used",
                self.held_bytes,
                group_id[:NAME_LENGTH_MAX],
            )
            return False
        self._noted[group_id] = self._noted.get(group_id, 0) + text_bytes
        self.held_bytes += text_bytes
        return True

    def _recount_all(self) -> None:
        now_ms = self._now_ms()
        if self._recounted_ms is None or now_ms - self._recounted_ms >= RECOUNT_INTERVAL_MS:
            self._recounted_ms = now_ms
            for group_id in tuple(self._noted):
                self._recount(group_id)

    def _recount(self, group_id: str) -> None:
        stored = self._count(group_id)
        self.held_bytes += stored - self._noted.pop(group_id, 0)
        self._counted.pop(group_id, None)
        if stored:
            self._noted[group_id] = self._counted[group_id] = stored
