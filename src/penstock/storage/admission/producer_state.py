"""The memory of idempotence and transactions: the last five batches of every producer in one log.

Kafka's rules: a batch among the last five is a duplicate and gets its old offsets; a lower epoch is refused
(47); a gap, an older batch, a partial overlap, or a new epoch that does not begin with 0 is refused (45); a
producer that is not known may begin anywhere. A batch outside a transaction is refused (48) while the producer has
one open. A marker with a new epoch takes the producer to it, and its batches are forgotten; one with a lower epoch
(47), or of a coordinator below the last one (52), is refused. Rebuilt from snapshots and the log. Producers that
wrote nothing for a day are forgotten unless a transaction is open, counted by our own clock: the timestamps in batches
belong to the clients. So are those that wrote nothing for longest, when there are too many: a client may use a new
producer id for every batch.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from penstock.model.batch import TRANSACTIONAL_BIT, BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import PRODUCERS_PER_LOG_MAX
from penstock.runtime.files import Buffer
from penstock.storage.admission.undecided import Transactions
from penstock.storage.interface import OpenTransaction, ProducerView
from penstock.storage.segment.aborted_index import AbortedEntry

BATCHES_KEPT = 5
EXPIRATION_MS = 24 * 3600 * 1000

_PRODUCER = Struct("<qhqqB")
_TRANSACTION = Struct("<iq")
NO_EPOCH = -1
NO_OFFSET = -1
_BATCH = Struct("<iiqqq")
_SEQUENCE_MASK = 0x7FFFFFFF


class SeenBatch(NamedTuple):
    """A batch that was written, as a duplicate of it must be answered."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    append_time_ms: int  # the largest of its timestamps, with which a duplicate is answered, as in Kafka


class Producer:
    """One producer id. `batches` are oldest first."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp_ms", "seen_ms")

    def __init__(self, epoch: int, last_timestamp_ms: int, seen_ms: int) -> None:
        self.epoch = epoch
        self.last_timestamp_ms = last_timestamp_ms
        self.seen_ms = seen_ms
        self.coordinator_epoch = NO_EPOCH  # of the last marker
        self.batches: list[SeenBatch] = []

    def raise_epoch(self, epoch: int) -> None:
        """Sequences begin at 0 again with every epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches = []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class Producers:
    """All producers of one log."""

    __slots__ = ("_by_id", "transactions")

    def __init__(self) -> None:
        self._by_id: dict[int, Producer] = {}
        self.transactions = Transactions()

    def __len__(self) -> int:
        return len(self._by_id)

    def forget_all(self) -> None:
        """The log begins again without records."""
        self._by_id.clear()
        self.transactions = Transactions()

    def check(self, header: BatchHeader) -> SeenBatch | None:
        """Return None if the batch may be written, a SeenBatch if it was written before. KafkaError 45, 47, 48."""
        producer = self._by_id.get(header.producer_id)
        if producer is None:
            return None
        first = header.base_sequence
        if header.producer_epoch != producer.epoch:
            if header.producer_epoch < producer.epoch:
                raise KafkaError(
                    ErrorCode.INVALID_PRODUCER_EPOCH,
                    f"epoch {header.producer_epoch}, the current one is {producer.epoch}",
                )
            if first > 0:
                raise _out_of_order(header, "a new epoch begins with 0")
            if header.producer_id in self.transactions.open:  # would be ended together with what is older
                raise KafkaError(
                    ErrorCode.INVALID_TXN_STATE, f"a transaction of epoch {producer.epoch} is open, this is another"
                )
            return None
        if first < 0:
            return None  # offsets that a transaction commits: the coordinator writes them, each once
        batches = producer.batches
        expected = (batches[-1].last_sequence + 1) & _SEQUENCE_MASK if batches else 0
        if first == expected:
            if self.transactions.open:
                self._check_transaction(header)
            return None
        last = (first + header.last_offset_delta) & _SEQUENCE_MASK
        for seen in batches:
            if seen.first_sequence == first and seen.last_sequence == last:
                return seen
        raise _out_of_order(header, f"expected {expected}")

    def _check_transaction(self, header: BatchHeader) -> None:
        if not header.is_transactional and header.producer_id in self.transactions.open:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE, f"producer {header.producer_id} has a transaction open, this is outside it"
            )

    def check_marker(self, marker: Marker) -> None:
        """KafkaError 47 or 52 if it comes too late."""
        producer = self._by_id.get(marker.producer_id)
        if producer is None:
            return
        if marker.producer_epoch < producer.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"a marker of epoch {marker.producer_epoch}, the current one is {producer.epoch}",
            )
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a marker of coordinator epoch {marker.coordinator_epoch} after {producer.coordinator_epoch}",
            )

    def note_marker(self, marker: Marker, offset: int, timestamp_ms: int, seen_ms: int) -> AbortedEntry | None:
        """Note a marker that is now in the log; returns what it aborts, if anything."""
        producer = self._by_id.get(marker.producer_id)
        if producer is None:
            producer = self._by_id[marker.producer_id] = Producer(marker.producer_epoch, timestamp_ms, seen_ms)
        producer.raise_epoch(marker.producer_epoch)
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.last_timestamp_ms = timestamp_ms
        producer.seen_ms = seen_ms
        return self.transactions.end(marker.producer_id, offset, is_commit=marker.is_commit)

    def note(self, header: BatchHeader, base_offset: int, append_time_ms: int, seen_ms: int) -> None:
        """Note a batch of an idempotent producer that is now in the log."""
        producer = self._by_id.get(header.producer_id)
        if producer is None:
            if len(self._by_id) >= PRODUCERS_PER_LOG_MAX:
                self._make_room()
            producer = Producer(header.producer_epoch, header.max_timestamp, seen_ms)
            self._by_id[header.producer_id] = producer
        elif producer.epoch != header.producer_epoch:
            producer.raise_epoch(header.producer_epoch)
        if header.attributes & TRANSACTIONAL_BIT:
            self.transactions.begin(header.producer_id, base_offset)
        producer.last_timestamp_ms = header.max_timestamp
        producer.seen_ms = seen_ms
        if header.base_sequence < 0:
            return
        delta = header.last_offset_delta
        last_sequence = (header.base_sequence + delta) & _SEQUENCE_MASK
        last_offset = base_offset + delta
        time_ms = header.max_timestamp if append_time_ms < 0 else append_time_ms
        seen = SeenBatch(header.base_sequence, last_sequence, base_offset, last_offset, time_ms)
        batches = producer.batches
        batches.append(seen)
        if len(batches) > BATCHES_KEPT:
            del batches[0]

    def replay(self, header: BatchHeader, marker: Marker | None, seen_ms: int) -> AbortedEntry | None:
        """Note a batch found during recovery; `marker` is what is in it. Returns what it aborts."""
        if marker is not None:
            return self.note_marker(marker, header.base_offset, header.max_timestamp, seen_ms)
        if header.producer_id < 0 or header.is_control:
            return None
        producer = self._by_id.get(header.producer_id)
        if producer is None or header.producer_epoch >= producer.epoch:
            self.note(header, header.base_offset, -1, seen_ms)
        return None

    def expire(self, now_ms: int, expiration_ms: int = EXPIRATION_MS) -> int:
        """Forget producers that wrote nothing for a while; returns how many."""
        is_open = self.transactions.open
        old = [
            key
            for key, producer in self._by_id.items()
            if now_ms - producer.seen_ms >= expiration_ms and key not in is_open
        ]
        for key in old:
            del self._by_id[key]
        return len(old)

    def _make_room(self) -> None:
        """Forget a quarter of the producers: of those without an open transaction the ones not seen for longest."""
        is_open = self.transactions.open
        idle = sorted((producer.seen_ms, key) for key, producer in self._by_id.items() if key not in is_open)
        for _, key in idle[: PRODUCERS_PER_LOG_MAX // 4]:
            del self._by_id[key]

    def add_newer(self, other: Producers) -> None:
        """Take over what another state knows and this one does not: batches may be lost that it has seen.

        A transaction that is open here stays open: its marker may be lost, and nothing says which it was.
        """
        mine = self.last_offsets()
        starts = dict(self.transactions.open)
        for key, producer in other._by_id.items():
            last_offset = producer.batches[-1].last_offset if producer.batches else -1
            if key not in self._by_id or last_offset > mine.get(key, -1):
                self._by_id[key] = producer
                if key in other.transactions.open:
                    starts.setdefault(key, other.transactions.open[key])
        self.transactions = Transactions(starts.items())

    def last_offsets(self) -> dict[int, int]:
        """Last offset of each producer: compaction must keep those batches, even when they are empty."""
        return {key: producer.batches[-1].last_offset for key, producer in self._by_id.items() if producer.batches}

    def views(self) -> list[ProducerView]:
        return [self._view(key, producer) for key, producer in self._by_id.items()]

    def view(self, producer_id: int) -> ProducerView | None:
        producer = self._by_id.get(producer_id)
        return None if producer is None else self._view(producer_id, producer)

    def find_sequence(self, producer_id: int, sequence: int) -> tuple[int, int] | None:
        """Offset and time of the record with this sequence, if it is in one of the producer's last batches."""
        producer = self._by_id.get(producer_id)
        for seen in producer.batches if producer is not None else ():
            place = (sequence - seen.first_sequence) & _SEQUENCE_MASK
            if place <= seen.last_offset - seen.base_offset:
                return seen.base_offset + place, seen.append_time_ms
        return None

    def _view(self, key: int, producer: Producer) -> ProducerView:
        return ProducerView(
            key,
            producer.epoch,
            producer.last_sequence,
            producer.last_timestamp_ms,
            producer.coordinator_epoch,
            self.transactions.open.get(key, NO_OFFSET),
        )

    def open_transactions(self) -> list[OpenTransaction]:
        """Open transactions, by first offset."""
        return [
            OpenTransaction(key, one.epoch, one.coordinator_epoch, start, one.last_timestamp_ms)
            for key, start in self.transactions.open.items()
            for one in (self._by_id[key],)
        ]

    def encode(self) -> bytes:
        """Encode for a snapshot: the count, then each producer with its batches."""
        parts = [len(self._by_id).to_bytes(4, "little")]
        for key, producer in self._by_id.items():
            count = len(producer.batches)
            parts.append(_PRODUCER.pack(key, producer.epoch, producer.last_timestamp_ms, producer.seen_ms, count))
            parts.append(_TRANSACTION.pack(producer.coordinator_epoch, self.transactions.open.get(key, NO_OFFSET)))
            parts += [_BATCH.pack(*batch) for batch in producer.batches]
        return b"".join(parts)


def decode_producers(data: Buffer, position: int, *, with_transactions: bool = True) -> tuple[Producers, int]:
    """The producers that `encode` wrote, and the position after them. struct.error or IndexError if cut short.

    Old snapshots are without transactions.
    """
    producers = Producers()
    starts: list[tuple[int, int]] = []
    count = int.from_bytes(data[position : position + 4], "little")
    position += 4
    for _ in range(count):
        key, epoch, last_timestamp_ms, seen_ms, batch_count = _PRODUCER.unpack_from(data, position)
        position += _PRODUCER.size
        producer = Producer(epoch, last_timestamp_ms, seen_ms)
        if with_transactions:
            producer.coordinator_epoch, start = _TRANSACTION.unpack_from(data, position)
            position += _TRANSACTION.size
            if start != NO_OFFSET:
                starts.append((key, start))
        for _ in range(batch_count):
            producer.batches.append(SeenBatch(*_BATCH.unpack_from(data, position)))
            position += _BATCH.size
        producers._by_id[key] = producer
    producers.transactions = Transactions(starts)
    return producers, position


def _out_of_order(header: BatchHeader, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"sequence {header.base_sequence} of producer {header.producer_id}: {why}",
    )
