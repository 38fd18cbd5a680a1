"""Cleaning one batch: the rules of compaction without I/O (see `compaction.compaction`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from penstock.model.batch import CODEC_MASK, DELETE_HORIZON_BIT, BatchHeader, Buffer
from penstock.model.batch_builder import assemble_batch
from penstock.model.errors import KafkaError
from penstock.model.records import RecordSpan, record_timestamp, records_payload, scan_records
from penstock.model.varint import append_signed, read_signed
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedRanges

# So many of the batches that could not be decoded are named, the rest is counted.
_NAMED_MAX = 10


def key_digest(key: bytes) -> bytes:
    """Sixteen bytes of a cryptographic hash: no client can make two keys share them on purpose."""
    return blake2b(key, digest_size=16).digest()


class BatchCleaner:
    """Decides about batches, one after the other, and counts what is reported."""

    def __init__(
        self,
        latest: Mapping[bytes, int],
        clean_end: int,
        producer_last_offsets: Mapping[int, int],
        now_ms: int,
        delete_retention_ms: int,
        aborted: AbortedRanges,
    ) -> None:
        """`latest`: the last offset of each key (as a digest) below `clean_end`."""
        self._aborted = aborted
        self._with_batches: set[int] = set()  # producers with batches since their last marker
        self._latest = latest
        self._clean_end = clean_end
        self._producer_last_offsets = producer_last_offsets
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self.keyless_count = 0
        self.undecodable: list[str] = []
        self.aborted_left: list[AbortedEntry] = []  # by the markers that stay for the sake of their batches

    def clean(self, header: BatchHeader, batch: memoryview) -> memoryview | bytearray | None:
        """The batch itself if it stays as it is, a smaller one, or None if it goes."""
        if header.is_transactional and header.producer_id >= 0:
            is_empty = self._follow(header)
            if header.is_control and header.base_offset < self._clean_end and is_empty:
                return self._clean_marker(header, batch)
        if header.base_offset >= self._clean_end or header.is_control:
            return batch
        if self._aborted.covers(header):
            return self._without_records(header, batch)
        try:
            payload = records_payload(batch, header)
            spans = list(scan_records(payload, header.record_count))
        except (ValueError, KafkaError) as error:
            if len(self.undecodable) < _NAMED_MAX:
                self.undecodable.append(f"batch at offset {header.base_offset}: {error}")
            return batch
        kept = [span for span in spans if self._stays(header, span)]
        if not kept:
            return self._without_records(header, batch)
        needs_horizon = (
            not header.has_delete_horizon
            and any(span.is_tombstone for span in kept)
            and self._horizon_fits(header, kept)
        )
        if len(kept) == len(spans) and not needs_horizon:
            return batch
        return self._rebuild(header, payload, kept, needs_horizon)

    def _follow(self, header: BatchHeader) -> bool:
        """Whether nothing was left of this batch's transaction before it.

        As in Kafka a transaction counts as aborted until the run after the one that took its batches: a consumer may
        have read them just before, and asks only now which are to be left out.
        """
        producer_id = header.producer_id
        if not header.is_control:
            self._with_batches.add(producer_id)
            return False
        is_empty = producer_id not in self._with_batches
        self._with_batches.discard(producer_id)
        entry = self._aborted.ended_by(header.base_offset)
        if entry is not None and (not is_empty or header.base_offset >= self._clean_end):
            self.aborted_left.append(entry)
        return is_empty

    def _clean_marker(self, header: BatchHeader, batch: memoryview) -> memoryview | bytearray | None:
        """Remove a marker without a transaction as a tombstone is: after the delete horizon that it gets now."""
        if header.has_delete_horizon:
            return None if header.base_timestamp <= self._now_ms else batch
        try:
            payload = records_payload(batch, header)
            spans = list(scan_records(payload, header.record_count))
        except (ValueError, KafkaError):
            return batch
        return self._rebuild(header, payload, spans, True) if self._horizon_fits(header, spans) else batch

    def _stays(self, header: BatchHeader, span: RecordSpan) -> bool:
        if span.key is None:
            self.keyless_count += 1  # no key, no last record of that key: Kafka drops it, too
            return False
        offset = header.base_offset + span.offset_delta
        if offset < self._clean_end and self._latest.get(key_digest(span.key), -1) > offset:
            return False
        expired = header.has_delete_horizon and header.base_timestamp <= self._now_ms
        return not (span.is_tombstone and expired)

    def _horizon_fits(self, header: BatchHeader, kept: Sequence[RecordSpan]) -> bool:
        """Whether every timestamp can be written as a delta from it: no clock is that wrong, but a client may be."""
        horizon = self._now_ms + self._delete_retention_ms
        return all(record_timestamp(header, span) - horizon >= -(1 << 63) for span in kept)

    def _without_records(self, header: BatchHeader, batch: memoryview) -> memoryview | bytearray | None:
        if self._producer_last_offsets.get(header.producer_id) != header.last_offset:
            return None
        if header.record_count == 0:
            return batch
        return assemble_batch(
            header._replace(
                attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT),
                base_timestamp=header.max_timestamp,
                record_count=0,
            ),
            b"",
        )

    def _rebuild(
        self, header: BatchHeader, payload: Buffer, kept: Sequence[RecordSpan], needs_horizon: bool
    ) -> bytearray:
        times = [record_timestamp(header, span) for span in kept]
        new = header._replace(record_count=len(kept), max_timestamp=max(times))
        records = bytearray()
        if needs_horizon:
            # KIP-534: the base timestamp is the horizon from now on, and deltas count from there.
            horizon = self._now_ms + self._delete_retention_ms
            new = new._replace(attributes=header.attributes | DELETE_HORIZON_BIT, base_timestamp=horizon)
            for span, timestamp in zip(kept, times, strict=True):
                _append_with_delta(records, payload, span, timestamp - horizon)
        else:
            for span in kept:
                records += payload[span.start : span.end]
        return assemble_batch(new, records)


def _append_with_delta(records: bytearray, payload: Buffer, span: RecordSpan, timestamp_delta: int) -> None:
    """The same record with another timestamp delta."""
    _, position = read_signed(payload, span.start)
    attributes = payload[position]
    _, rest = read_signed(payload, position + 1)
    body = bytearray([attributes])
    append_signed(body, timestamp_delta)
    body += payload[rest : span.end]
    append_signed(records, len(body))
    records += body
