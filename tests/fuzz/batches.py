"""Target: record batches, as a client sends them and as a log keeps them.

    byte 0     the codec for what is packed again (bits 0-2), whether keys are wanted (bit 3)
    the rest   batches

Wrong is: an exception other than KafkaError; more bytes out of a codec than were allowed; a quick way and a careful
way through the same records that do not agree; a batch, packed again or compacted, that holds other records.
"""

from __future__ import annotations

import random
from typing import Final

from penstock.broker.records.checks import LoopBudget, RecordCheck, check_batches
from penstock.model.batch import BatchHeader, check_batch, crc_matches, iter_headers, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.compression import compress, decompress
from penstock.model.errors import KafkaError
from penstock.model.record import Record
from penstock.model.record_walk import first_since, latest_from, sound_steps
from penstock.model.records import batch_records, check_records, records_payload
from penstock.storage.compaction.clean_batch import BatchCleaner, key_digest
from penstock.storage.segment.aborted_index import AbortedRanges
from tests.fuzz.finding import Finding, watched
from tests.fuzz.mutation import Change, change_somehow, fix_batches, rearrange
from tests.fuzz.samples import BATCHES, TIME
from tests.support import batches as by_hand

LIMIT: Final = 1 << 20
NOW: Final = TIME + 1_000_000
KEYED: Final = 8


def run(data: bytes) -> None:
    if not data:
        return
    codec, keyed, body = data[0] % 5, bool(data[0] & KEYED), data[1:]
    with watched():
        _check_from_client(body, codec, keyed)
        for position, header in iter_headers(body):
            _check_stored(body[position : position + header.size_bytes], header)
        _check_codecs(body)


def _check_from_client(body: bytes, codec: int, keyed: bool) -> None:
    """The path of a batch through Produce."""
    try:
        header = check_batch(memoryview(body))
    except KafkaError:
        return
    check = RecordCheck(body, header, True, keyed, codec, LIMIT, LIMIT)
    decided, quick = LoopBudget().try_check(check)
    (careful,) = check_batches([check])
    if decided and bytes(_stored(quick, body)) != bytes(_stored(careful, body)):
        raise Finding(f"on the loop {quick!r}, in the worker {careful!r}")
    if isinstance(careful, bytearray) and _records(careful) != _records(body):
        raise Finding("packed again, a batch has other records")


def _stored(verdict: KafkaError | bytearray | None, body: bytes) -> bytes | bytearray:
    if isinstance(verdict, KafkaError):
        raise Finding(f"refused in one way, not in the other: {verdict}")
    return body if verdict is None else verdict


def _records(batch: bytes | bytearray) -> list[Record]:
    return list(batch_records(batch, read_header(batch), limit=LIMIT))


def _check_stored(batch: bytes, header: BatchHeader) -> None:
    """The path of a stored batch through a log, whatever is in it."""
    try:
        payload = records_payload(batch, header, limit=LIMIT)
    except KafkaError:
        return
    if header.codec and len(payload) > LIMIT:
        raise Finding(f"{len(payload)} bytes where {LIMIT} are allowed")
    try:
        records = _records(batch)
    except KafkaError:
        records = None
    _check_walks(payload, header, records)
    _check_times(payload, header, records)
    if records is not None:
        _check_built(records, header)
    _check_cleaned(batch, header, records)


def _check_walks(payload: bytes | bytearray | memoryview, header: BatchHeader, records: list[Record] | None) -> None:
    for keyed in (False, True):
        quick = sound_steps(payload, header.record_count, keyed=keyed) > 0
        deltas = range(header.base_offset, header.base_offset + max(0, header.record_count))
        careful = (
            records is not None
            and all(record.offset == offset for record, offset in zip(records, deltas, strict=True))
            and not (keyed and any(record.key is None for record in records))
        )
        if quick != careful and header.record_count > 0:
            raise Finding(f"sound by the quick walk: {quick}, by the careful one: {careful}")
        try:
            check_records(payload, header, compacted=keyed)
        except KafkaError as error:
            if careful:
                raise Finding("sound records are refused") from error


def _check_times(payload: bytes | bytearray | memoryview, header: BatchHeader, records: list[Record] | None) -> None:
    wanted = header.max_timestamp
    start, end = header.base_offset, header.base_offset + 1_000
    try:
        first = first_since(payload, header, wanted, start, end)
        latest = latest_from(payload, header, start)
    except ValueError:
        if records is not None:
            raise Finding("records that decode cannot be searched by time") from None
        return
    if records is None:
        return
    candidates = [one for one in records if start <= one.offset < end and one.timestamp >= wanted]
    if first != ((candidates[0].timestamp, candidates[0].offset) if candidates else None):
        raise Finding(f"first since {wanted}: {first}, but {candidates[:1]}")
    if latest != max([-1, *(one.timestamp for one in records if one.offset >= start)]):
        raise Finding(f"latest: {latest}")


def _check_built(records: list[Record], header: BatchHeader) -> None:
    """Written and read again, records are the same."""
    new = [NewRecord(one.key, one.value, one.headers, one.timestamp) for one in records]
    if not new or any(abs(one.timestamp - records[0].timestamp) > 1 << 62 for one in records):
        return  # nobody's clock
    if not all(-(1 << 63) <= one.timestamp < 1 << 63 for one in records):
        return
    built = build_batch(new, timestamp=TIME, codec=header.codec if header.codec < 5 else 0)
    again = [one[1:] for one in _records(built)]
    if again != [one[1:] for one in records]:
        raise Finding("built from its records, a batch has others")


def _check_cleaned(batch: bytes, header: BatchHeader, records: list[Record] | None) -> None:
    """Compaction keeps a part of the records, offsets as they were; what it cannot read it leaves alone."""
    keys = [one.key for one in records or () if one.key is not None]
    later = header.base_offset + 1 + max(0, header.last_offset_delta)
    latest = {key_digest(key): later for key in keys[::2]}
    for producers in ({}, {header.producer_id: header.last_offset}):
        cleaner = BatchCleaner(latest, later + 1, producers, NOW, 1_000, AbortedRanges())
        try:
            cleaned = cleaner.clean(header, memoryview(batch))
        except KafkaError as error:
            raise Finding(f"compaction: {error}") from error
        if cleaned is None or isinstance(cleaned, memoryview):
            continue
        found = read_header(cleaned)
        if not crc_matches(cleaned, 0, found) or found.last_offset != header.last_offset:
            raise Finding(f"compaction made {found} of {header}")
        kept = _records(cleaned)
        if records is None or not _is_part(kept, records):
            raise Finding("compaction made records up")


def _is_part(kept: list[Record], records: list[Record]) -> bool:
    rest = iter(records)
    return all(any(one == other for other in rest) for one in kept)


def _check_codecs(body: bytes) -> None:
    """Bytes that say they were compressed: however much they promise, no more than the limit comes out."""
    for codec in range(1, 5):
        try:
            out = decompress(codec, body, 65_536)
        except KafkaError:
            continue
        if len(out) > 65_536:
            raise Finding(f"codec {codec}: {len(out)} bytes where 65536 are allowed")
    codec = 1 + len(body) % 4
    if bytes(decompress(codec, compress(codec, body), len(body) + 65_536)) != body:
        raise Finding(f"codec {codec} does not give back what it was given")


def seeds() -> dict[str, bytes]:
    found = {name: bytes((2,)) + data for name, data in BATCHES.items()}
    found |= {f"{name}-keyed": bytes((4 | KEYED,)) + data for name, data in BATCHES.items()}
    found["two"] = b"\0" + BATCHES["codec0"] + BATCHES["codec3"]
    many = [by_hand.Record(key=b"%d" % n, timestamp_ms=TIME) for n in range(200)]
    for codec in range(5):
        zeros = by_hand.compress(codec, bytes(200_000))
        found[f"zeros-{codec}"] = b"\0" + by_hand.batch(many[:1], codec=codec, body=zeros[:3_000])
        found[f"packed-zeros-{codec}"] = b"\0" + zeros[:3_000]
        found[f"many-{codec}"] = b"\1" + by_hand.batch(many, codec=codec)
        found[f"packed-{codec}"] = b"\0" + by_hand.compress(codec, b"some bytes, some bytes")
    for magic in (0, 1):
        found[f"magic-{magic}"] = b"\0" + by_hand.message_set(magic)
    horizon = [by_hand.Record(key=b"k", value=None, timestamp_ms=TIME), by_hand.Record(key=b"l", timestamp_ms=TIME)]
    found["horizon"] = b"\0" + by_hand.batch(horizon, attributes=0x40)
    found["append-time"] = b"\0" + by_hand.batch(horizon, attributes=0x08)
    found["offset"] = b"\0" + by_hand.batch(horizon, base_offset=1 << 40)
    found["empty"] = b"\0" + by_hand.batch([], last_offset_delta=3)
    return found


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    kind = choose.random()
    if kind < 0.1:
        parts = [data[1:]]
        rearrange(parts, tuple(BATCHES.values()), choose)
        return (data[:1] + fix_batches(b"".join(parts)))[:max_bytes]
    if kind < 0.3 and len(data) > 62:  # longer or shorter records under a header that knows it
        body = change(data[62:], max_bytes)
        size = (49 + len(body)).to_bytes(4, "big")
        return fix_batches(data[:1] + data[1:9] + size + data[13:62] + body)[:max_bytes]
    return (data[:1] + change_somehow(data[1:], max_bytes, choose, change))[:max_bytes]
