"""The part of a log that speaks of transactions, for logs of tests in which nobody has any."""

from __future__ import annotations

from penstock.model.control_record import Marker
from penstock.storage.interface import AbortedTransaction, Appended, OpenTransaction, ProducerView


class NoTransactions:
    flushed: int

    @property
    def last_stable(self) -> int:
        return self.flushed

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        raise AssertionError("no transactions here")

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        return []

    def open_transactions(self) -> list[OpenTransaction]:
        return []

    def producer(self, producer_id: int) -> ProducerView | None:
        return None
