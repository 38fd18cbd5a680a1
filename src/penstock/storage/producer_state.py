"""What idempotence needs to remember: the last five batches of every producer in one log.

Kafka's rules: a batch among the last five is a duplicate and gets its old offsets; a lower epoch is refused
(47); a gap, an older batch, a partial overlap, or a new epoch that does not begin with 0 is refused (45); a
producer that is not known may begin anywhere. Rebuilt from snapshots and the log. Producers that wrote
nothing for a day are forgotten, counted by our own clock: the timestamps in batches belong to the clients.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from penstock.model.batch import BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import Buffer
from penstock.storage.interface import ProducerView

BATCHES_KEPT = 5
EXPIRATION_MS = 24 * 3600 * 1000

_PRODUCER = Struct("<qhqqB")
_BATCH = Struct("<iiqqq")
_SEQUENCE_MASK = 0x7FFFFFFF


class SeenBatch(NamedTuple):
    """A batch that was written, as a duplicate of it must be answered."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    append_time_ms: int  # the largest of its timestamps, which a duplicate is told, as in Kafka


class Producer:
    """One producer id. `batches` are oldest first."""

    __slots__ = ("batches", "epoch", "last_timestamp_ms", "seen_ms")

    def __init__(self, epoch: int, last_timestamp_ms: int, seen_ms: int) -> None:
        self.epoch = epoch
        self.last_timestamp_ms = last_timestamp_ms
        self.seen_ms = seen_ms
        self.batches: list[SeenBatch] = []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class Producers:
    """All producers of one log."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[int, Producer] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def check(self, header: BatchHeader) -> SeenBatch | None:
        """None: may be written. A SeenBatch: was written before. KafkaError 45 or 47: neither."""
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
            if first != 0:
                raise _out_of_order(header, "a new epoch begins with 0")
            return None
        last = (first + header.last_offset_delta) & _SEQUENCE_MASK
        batches = producer.batches
        if not batches:
            return None
        expected = (batches[-1].last_sequence + 1) & _SEQUENCE_MASK
        if first == expected:
            return None
        for seen in batches:
            if seen.first_sequence == first and seen.last_sequence == last:
                return seen
        raise _out_of_order(header, f"expected {expected}")

    def note(self, header: BatchHeader, base_offset: int, append_time_ms: int, seen_ms: int) -> None:
        """A batch of an idempotent producer is now in the log."""
        producer = self._by_id.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = Producer(header.producer_epoch, header.max_timestamp, seen_ms)
            self._by_id[header.producer_id] = producer
        producer.last_timestamp_ms = header.max_timestamp
        producer.seen_ms = seen_ms
        delta = header.last_offset_delta
        last_sequence = (header.base_sequence + delta) & _SEQUENCE_MASK
        last_offset = base_offset + delta
        time_ms = header.max_timestamp if append_time_ms < 0 else append_time_ms
        seen = SeenBatch(header.base_sequence, last_sequence, base_offset, last_offset, time_ms)
        batches = producer.batches
        batches.append(seen)
        if len(batches) > BATCHES_KEPT:
            del batches[0]

    def replay(self, header: BatchHeader, seen_ms: int) -> None:
        """A batch was found in the log while it was recovered."""
        if header.producer_id < 0 or header.is_control:
            return
        producer = self._by_id.get(header.producer_id)
        if producer is not None and (
            header.producer_epoch < producer.epoch
            or (producer.batches and header.base_offset <= producer.batches[-1].last_offset)
        ):
            return  # the snapshot knows it already
        self.note(header, header.base_offset, -1, seen_ms)

    def expire(self, now_ms: int, expiration_ms: int = EXPIRATION_MS) -> int:
        """Forget producers that wrote nothing for a while; returns how many."""
        old = [key for key, producer in self._by_id.items() if now_ms - producer.seen_ms >= expiration_ms]
        for key in old:
            del self._by_id[key]
        return len(old)

    def add_newer(self, other: Producers) -> None:
        """Take over what another state knows and this one does not: batches may be lost that it has seen."""
        mine = self.last_offsets()
        for key, last_offset in other.last_offsets().items():
            if last_offset > mine.get(key, -1):
                self._by_id[key] = other._by_id[key]

    def last_offsets(self) -> dict[int, int]:
        """Last offset of each producer: compaction must keep those batches, even when they are empty."""
        return {key: producer.batches[-1].last_offset for key, producer in self._by_id.items() if producer.batches}

    def views(self) -> list[ProducerView]:
        return [
            ProducerView(key, producer.epoch, producer.last_sequence, producer.last_timestamp_ms, -1, -1)
            for key, producer in self._by_id.items()
        ]

    def encode(self) -> bytes:
        """For snapshots: count, then each producer with its batches."""
        parts = [len(self._by_id).to_bytes(4, "little")]
        for key, producer in self._by_id.items():
            count = len(producer.batches)
            parts.append(_PRODUCER.pack(key, producer.epoch, producer.last_timestamp_ms, producer.seen_ms, count))
            parts += [_BATCH.pack(*batch) for batch in producer.batches]
        return b"".join(parts)


def decode_producers(data: Buffer, position: int) -> tuple[Producers, int]:
    """What `encode` wrote, and the position after it. struct.error or IndexError if it is cut short."""
    producers = Producers()
    count = int.from_bytes(data[position : position + 4], "little")
    position += 4
    for _ in range(count):
        key, epoch, last_timestamp_ms, seen_ms, batch_count = _PRODUCER.unpack_from(data, position)
        position += _PRODUCER.size
        producer = Producer(epoch, last_timestamp_ms, seen_ms)
        for _ in range(batch_count):
            producer.batches.append(SeenBatch(*_BATCH.unpack_from(data, position)))
            position += _BATCH.size
        producers._by_id[key] = producer
    return producers, position


def _out_of_order(header: BatchHeader, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"sequence {header.base_sequence} of producer {header.producer_id}: {why}",
    )
