"""The recovery point of a log, in one small file that is replaced as a whole.

Everything below `log_end` was on disk when the snapshot was written. It says where to go on scanning after a
crash, what the scan starts from (producers, epochs), and which segments there must be: a sealed one that is
missing or too short is damage, found without reading it. After a clean stop there is nothing above it
to scan.

    magic 'PSSN' | version u16 | zero u16 | CRC-32C u32 of all that follows
    log end i64 | segments u32 | { base i64 | end i64 | size u64 | first timestamp, largest, its offset i64 |
                                   aborted transactions i32 | CRC-32C u32 | lowest first offset i64 }… |
    epochs u32 | { epoch i32 | start offset i64 }… | producers u32 | …   (`producer_state`)       little-endian

Version 1, from before there were transactions, lacks what is said of them and is still read.
The last segment is the one that was active: its size is the position to go on from. Snapshots are not
derived any more once retention has removed segments (their producers are only here), so a new one is durable
before the old one goes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.runtime.files import Buffer, Files
from penstock.storage import layout
from penstock.storage.admission.epochs import EpochEntry
from penstock.storage.admission.producer_state import Producers, decode_producers
from penstock.storage.segment.aborted_index import NONE_ABORTED, AbortedSummary
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import Times

_PREFIX = Struct("<4sHHI")
_ENDS = Struct("<qI")
_SEGMENT = Struct("<qqQqqq")
_ABORTED = Struct("<iIq")
_COUNT = Struct("<I")
_EPOCH = Struct("<iq")
_MAGIC = b"PSSN"
_VERSION = 2
_WITHOUT_TRANSACTIONS = 1


class Snapshot(NamedTuple):
    log_end: int
    segments: Sequence[SegmentEntry]
    epochs: Sequence[EpochEntry]
    producers: Producers


def encode_snapshot(
    log_end: int, segments: Sequence[SegmentEntry], epochs: Sequence[EpochEntry], producers: Buffer
) -> bytes:
    """The bytes of a snapshot; `producers` is already encoded, since only the event loop may walk over them."""
    parts: list[Buffer] = [_ENDS.pack(log_end, len(segments))]
    parts += [_SEGMENT.pack(*entry[:3], *entry.times) + _ABORTED.pack(*entry.aborted) for entry in segments]
    parts.append(_COUNT.pack(len(epochs)))
    parts += [_EPOCH.pack(*entry) for entry in epochs]
    parts.append(producers)
    content = b"".join(parts)
    return _PREFIX.pack(_MAGIC, _VERSION, 0, crc32c(content)) + content


def decode_snapshot(data: Buffer) -> Snapshot:
    """ValueError for anything but a whole snapshot."""
    try:
        magic, version, _, crc = _PREFIX.unpack_from(data)
        if magic != _MAGIC or version not in (_VERSION, _WITHOUT_TRANSACTIONS):
            raise ValueError("not a snapshot of this version")
        if crc32c(memoryview(data)[_PREFIX.size :]) != crc:
            raise ValueError("wrong CRC")
        position = _PREFIX.size
        log_end, count = _ENDS.unpack_from(data, position)
        position += _ENDS.size
        segments = []
        for _ in range(count):
            base, end, size, *times = _SEGMENT.unpack_from(data, position)
            position += _SEGMENT.size
            aborted = NONE_ABORTED
            if version != _WITHOUT_TRANSACTIONS:
                aborted = AbortedSummary(*_ABORTED.unpack_from(data, position))
                position += _ABORTED.size
            segments.append(SegmentEntry(base, end, size, Times(*times), aborted))
        if not _in_order(segments):
            raise ValueError("its segments are not in order")
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        epochs = [_EPOCH.unpack_from(data, position + _EPOCH.size * index) for index in range(count)]
        position += _EPOCH.size * count
        producers, position = decode_producers(data, position, with_transactions=version != _WITHOUT_TRANSACTIONS)
    except struct.error as error:
        raise ValueError(str(error)) from None
    return Snapshot(log_end, segments, [(epoch, start) for epoch, start in epochs], producers)


def _in_order(segments: Sequence[SegmentEntry]) -> bool:
    if any(each.base_offset > each.end_offset for each in segments):
        return False
    return all(
        one.base_offset < following.base_offset and one.end_offset <= following.base_offset
        for one, following in pairwise(segments)
    )


def newest_snapshot(files: Files, directory: Path, names: Sequence[str]) -> tuple[Snapshot | None, bool]:
    """The newest one that reads well, and whether it is the newest that was written."""
    found = sorted(
        (end for name in names if (end := layout.offset_of(name, layout.SNAPSHOT)) is not None), reverse=True
    )
    for index, end in enumerate(found):
        try:
            snapshot = decode_snapshot(files.read_bytes(layout.snapshot_path(directory, end)))
        except (OSError, ValueError):
            continue
        if snapshot.log_end == end and snapshot.segments:
            return snapshot, index == 0
    return None, False


def rewrite_segments(files: Files, directory: Path, log_end: int, current: Sequence[SegmentEntry]) -> None:
    """Compaction changed sealed segments: say so in the snapshot of `log_end`, durably.

    Segments that are not sealed below the snapshot keep the numbers it has for them.
    """
    path = layout.snapshot_path(directory, log_end)
    snapshot = decode_snapshot(files.read_bytes(path))
    active = snapshot.segments[-1]
    sealed = [entry for entry in current if entry.base_offset < active.base_offset]
    data = encode_snapshot(log_end, [*sealed, active], snapshot.epochs, snapshot.producers.encode())
    files.write_durably(path, data)
