"""Batches of coordinators are stored so that nothing a member sent is a whole batch on the disk.

A log that finds bad bytes at its end after a power cut asks whether a whole batch lies behind them: then they were on
disk once, and the log counts as damaged. A member may put a whole batch, with a base offset of its choice, into its
assignment, its metadata or a commit. If the write of that is torn, the batch inside may be there still, and one member
would have shut a partition with everybody's groups. Bytes on the disk cannot tell the two apart, so the records are
stored in another form: compressed by snappy, as literals of two bytes. The header of a batch begins with 0, its length
(8 bytes on) with a byte below 16, and its magic (16 bytes on) is 2; of three positions that are eight apart one is that
of a tag, which is every third byte and 4 or 0xf0. So none begins there, but for one that would be 64 MiB long.

A batch inside may end behind the one that holds it, where zeros are. With a sector lost inside of it its CRC may become
right, which can be meant; that takes one for each place where a sector may begin, so there may be few headers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from crc32c import crc32c

from penstock.model.batch import (
    CODEC_MASK,
    CRC_START,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    Buffer,
    read_header,
    write_crc,
    write_header,
)
from penstock.model.compression import SNAPPY, compress

# Length and magic lie 8 and 16 bytes after the first byte of a batch: neighbours among every eighth byte.
_STRIDE: Final = 8
_MAGIC: Final = 2
# A commit of sixty offsets has one header by chance, or none.
_HEADERS_MAX: Final = 16
_PLACES_MAX: Final = 1024
ZEROS_MAX: Final = 256 << 10
"""As many zeros as a log has behind its last batch, at most."""
_ZEROS: Final = memoryview(bytes(ZEROS_MAX))
_PAIR: Final = b"\x04"  # a literal of two bytes
_SINGLE: Final = b"\xf0\x00"  # a literal of one byte, in the long form
_SHIFTS: Final = 4
# Thousands of offsets in one commit, which have many headers by chance and are small when they are compressed.
_LARGE_BYTES: Final = 512 << 10


def without_look_alikes(batch: bytearray) -> bytearray:
    """The batch, or the same records in the other form."""
    if not holds_look_alike(batch):
        return batch
    header, payload = read_header(batch), memoryview(batch)[HEADER_BYTES:]
    assert header.codec == 0, "batches of coordinators are not compressed"
    header = header._replace(attributes=header.attributes & ~CODEC_MASK | SNAPPY)
    for body in _bodies(payload):
        stored = bytearray(HEADER_BYTES) + body
        write_header(stored, header._replace(batch_length=len(stored) - LOG_OVERHEAD_BYTES))
        write_crc(stored, crc32c(memoryview(stored)[CRC_START:]))
        if not holds_look_alike(stored):
            break
    return stored


def holds_look_alike(batch: bytearray) -> bool:
    """Whether a whole batch begins inside this one, or there are too many headers of batches to say so."""
    size = len(batch)
    headers = 0
    for looked_at, place in enumerate(_places(batch)):
        if looked_at == _PLACES_MAX:
            return True
        left = size - place
        length = int.from_bytes(batch[place + 8 : place + 12], "big") + LOG_OVERHEAD_BYTES
        if not HEADER_BYTES <= length <= left + ZEROS_MAX:
            continue
        header = read_header(batch[place : place + HEADER_BYTES].ljust(HEADER_BYTES, b"\0"))
        if header.last_offset_delta < 0 or header.record_count < 0:
            continue
        headers += 1
        if headers > _HEADERS_MAX:
            return True
        crc = crc32c(memoryview(batch)[place + CRC_START : place + length])
        behind = length - max(left, CRC_START)
        if (crc32c(_ZEROS[:behind], crc) if behind > 0 else crc) == header.crc:
            return True
    return False


def _places(batch: bytearray) -> Iterator[int]:
    """Where base offset, length and magic of a batch may be, but at the begin of this one."""
    high_bytes = range((len(batch) + ZEROS_MAX >> 24) + 1)  # of a length
    for start in range(_STRIDE):
        every_eighth = batch[start::_STRIDE]
        for high_byte in high_bytes:
            wanted = bytes((0, high_byte, _MAGIC))
            at = every_eighth.find(wanted, 1 if start == 0 else 0)
            while at >= 0:
                yield start + _STRIDE * at
                at = every_eighth.find(wanted, at + 1)


def _bodies(payload: memoryview) -> Iterator[Buffer]:
    """The records in forms of snappy, the preferred one first."""
    if len(payload) > _LARGE_BYTES:  # half as much again may be too large for the topic
        yield compress(SNAPPY, payload)
    for shift in range(_SHIFTS):  # one that begins in the header of the batch goes on at other bytes then
        yield _literals(payload, shift)


def _literals(payload: memoryview, shift: int) -> bytearray:
    """A block of snappy in which nothing is copied: a few single bytes, then pairs."""
    block = bytearray()
    size = len(payload)
    while size > 0x7F:
        block.append(size & 0x7F | 0x80)
        size >>= 7
    block.append(size)
    singles = shift + (len(payload) - shift & 1)
    for byte in payload[:singles]:
        block += _SINGLE
        block.append(byte)
    rest = payload[singles:]
    pairs = bytearray(_PAIR) * (len(rest) // 2 * 3)
    pairs[1::3] = rest[::2]
    pairs[2::3] = rest[1::2]
    return block + pairs
