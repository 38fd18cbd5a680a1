"""The transactional part of a log, for logs of tests without transactions."""

from __future__ import annotations

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.ids import PartitionId, TopicId
from penstock.storage.interface import AbortedTransaction, Appended, OpenTransaction, ProducerView


class NoTransactions:
    """A log without transactions and mirrors."""

    def stable_end(self, below: int) -> int:
        return below

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        raise AssertionError("no mirrors here")

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        raise AssertionError("no transactions here")

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        return []

    def open_transactions(self) -> list[OpenTransaction]:
        return []

    def producer(self, producer_id: int) -> ProducerView | None:
        return None

    def find_sequence(self, producer_id: int, sequence: int) -> tuple[int, int] | None:
        return None


class NoMirrors:
    """The parts of a log engine that mirrors and operators need."""

    def problems(self) -> dict[str, list[str]]:
        return {}

    def is_leaving(self, topic_id: TopicId) -> bool:
        return False

    def restart_at(self, partition: PartitionId, offset: int) -> None:
        raise AssertionError("no mirrors here")
