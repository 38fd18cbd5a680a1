"""Filter of aborted transactions: which batches a reader of committed records leaves out.

A log, and the answer to a Fetch with isolation READ_COMMITTED, list the aborted transactions of a range of offsets:
producer id and first offset of each. A producer's transactions follow one another, so everything transactional of that
producer from there on is aborted, up to the producer's next marker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from penstock.model.batch import BatchHeader, iter_headers


class AbortedTransaction(Protocol):
    """First offset of an aborted transaction and its producer."""

    @property
    def producer_id(self) -> int: ...
    @property
    def first_offset(self) -> int: ...


class AbortedFilter:
    """Filter for batches of aborted transactions. It sees all batches in the order of their offsets, with markers."""

    __slots__ = ("_ahead", "_producers")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ahead = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        self._producers: set[int] = set()
        """Producers within an aborted transaction."""

    def leaves_out(self, header: BatchHeader) -> bool:
        """Whether readers of committed records must skip a batch: a marker, or part of an aborted transaction."""
        if not header.is_transactional and not header.is_control:
            return False
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            self._producers.add(self._ahead.pop().producer_id)
        if header.is_control:
            self._producers.discard(header.producer_id)
            return True
        return header.producer_id in self._producers


def has_transactions(records: bytes) -> bool:
    """Whether batches need a filter: a log without transactions need not be asked for aborted ones."""
    return any(header.is_transactional or header.is_control for _, header in iter_headers(records))
