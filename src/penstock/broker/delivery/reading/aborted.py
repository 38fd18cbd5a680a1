"""What aborted transactions have written, which nobody is sent."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.batch import BatchHeader, iter_headers
from penstock.storage.interface import AbortedTransaction


def has_transactions(records: bytes) -> bool:
    return any(header.is_transactional or header.is_control for _, header in iter_headers(records))


class AbortedFilter:
    """Which batches belong to a transaction that was aborted, as consumers of committed records find out."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda one: one.first_offset)
        self._producers: set[int] = set()

    def covers(self, header: BatchHeader) -> bool:
        while self._coming and self._coming[0].first_offset <= header.base_offset + header.last_offset_delta:
            self._producers.add(self._coming.pop(0).producer_id)
        return header.producer_id in self._producers

    def ended(self, header: BatchHeader) -> None:
        self.covers(header)
        self._producers.discard(header.producer_id)
