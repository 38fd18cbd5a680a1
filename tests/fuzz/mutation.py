"""Changing inputs without losing their shape: sizes and checksums are made right again after most changes.

A change by libFuzzer alone nearly always ends at the first length or CRC; what lies behind it would hardly be seen.
Each target composes its mutator of these. `Change` is libFuzzer's own mutation, or in tests any other.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from crc32c import crc32c

from penstock.model.batch import CRC_START, HEADER_BYTES, LOG_OVERHEAD_BYTES
from penstock.storage.segment.batch_scanner import _LOOKS_LIKE_BATCH

Change = Callable[[bytes, int], bytes]

# Values of numbers that are easily forgotten.
NUMBERS: Final = (0, 1, -1, 2, 5, 7, 127, 128, 255, 256, 32_767, -32_768, 65_535, 2**31 - 1, -(2**31), 2**32 - 1,
                  2**62, 2**63 - 1, -(2**63))  # fmt: skip


def split_frames(stream: bytes) -> list[bytes]:
    """The frames of a stream; the last may be cut short."""
    frames = []
    position = 0
    while position < len(stream):
        size = int.from_bytes(stream[position : position + 4], "big", signed=True)
        end = position + 4 + max(0, size)
        frames.append(stream[position + 4 : end])
        position = max(end, position + 4)
    return frames


def join_frames(frames: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(payload)) + payload for payload in frames)


def find_batches(data: bytes) -> list[tuple[int, int]]:
    """Where in the bytes something lies that looks like a record batch: start and end."""
    found = []
    for match in _LOOKS_LIKE_BATCH.finditer(data):
        start = match.start()
        size = int.from_bytes(data[start + 8 : start + 12], "big") + LOG_OVERHEAD_BYTES
        if size >= HEADER_BYTES and start + size <= len(data):
            found.append((start, start + size))
    return found


def fix_batches(data: bytes) -> bytes:
    """The same bytes with the CRC of every batch in them made right."""
    fixed = bytearray(data)
    for start, end in find_batches(data):
        crc = crc32c(memoryview(fixed)[start + CRC_START : end])
        struct.pack_into(">I", fixed, start + 17, crc)
    return bytes(fixed)


def change_inside_batch(data: bytes, choose: random.Random, change: Change) -> bytes:
    """One batch changed behind its CRC, its length as before."""
    found = find_batches(data)
    if not found:
        return data
    start, end = choose.choice(found)
    first = start + (CRC_START if choose.random() < 0.5 else HEADER_BYTES)
    changed = change(data[first:end], end - first)[: end - first]
    changed += data[first + len(changed) : end]
    return fix_batches(data[:first] + changed + data[end:])


def put_number(data: bytes, choose: random.Random) -> bytes:
    """A number of 1 to 8 bytes at the edge of its range somewhere."""
    size = choose.choice((1, 2, 4, 4, 8))
    if len(data) < size:
        return data
    at = choose.randrange(len(data) - size + 1)
    number = choose.choice(NUMBERS) & ((1 << 8 * size) - 1)
    return data[:at] + number.to_bytes(size, choose.choice(("big", "big", "little"))) + data[at + size :]


def cut_or_repeat(data: bytes, choose: random.Random) -> bytes:
    """A part of the bytes gone, or there twice."""
    if not data:
        return data
    start = choose.randrange(len(data))
    end = min(len(data), start + choose.choice((1, 2, 4, 8, 61, 200)))
    return data[:start] + data[end:] if choose.random() < 0.5 else data[:end] + data[start:]


def change_somehow(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    """One of the changes above, or libFuzzer's own."""
    kind = choose.random()
    if kind < 0.25:
        return change_inside_batch(data, choose, change)
    if kind < 0.45:
        changed = put_number(data, choose)
    elif kind < 0.55:
        changed = cut_or_repeat(data, choose)
    else:
        changed = change(data, max_bytes)
    return fix_batches(changed) if choose.random() < 0.9 else changed


def rearrange(parts: list[bytes], spare: Sequence[bytes], choose: random.Random) -> None:
    """A part more, less, twice or elsewhere."""
    kind = choose.randrange(4)
    if kind == 0 or not parts:
        parts.insert(choose.randint(0, len(parts)), choose.choice(spare))
    elif kind == 1:
        parts.pop(choose.randrange(len(parts)))
    elif kind == 2:
        parts.insert(choose.randrange(len(parts) + 1), choose.choice(parts))
    else:
        choose.shuffle(parts)
