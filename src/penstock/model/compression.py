"""The codecs of record batches: none, gzip, snappy, lz4, zstd, numbered 0 to 4 as in the attributes.

Decompression is bounded: data that would exceed the caller's limit is refused while it is still small. Snappy
comes in two forms and both are read: Java clients wrap blocks in the framing of xerial's snappy-java,
librdkafka sends one bare block. Penstock writes xerial's, which every client reads.

    xerial   82 'SNAPPY' 00 | version int32 | compatible version int32 | { length int32 | snappy block }…
"""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from typing import Any, Final

import cramjam

from penstock.model.batch import Buffer
from penstock.model.errors import ErrorCode, KafkaError

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_BLOCK_LENGTH = Struct(">i")
# Magic; version 1, independent blocks, no checksums; blocks of at most 64 KiB; checksum of these two bytes.
_LZ4_HEADER: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_BYTES: Final = 64 * 1024
_LZ4_BLOCK_LENGTH = Struct("<I")
_LZ4_UNCOMPRESSED: Final = 0x80000000

_STREAMS: Final[dict[int, Any]] = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}
# cramjam's message where the output buffer is too small, as opposed to bad input.
_OUTPUT_FULL: Final = "failed to write whole buffer"
_FIRST_OUTPUT_BYTES: Final = 64 * 1024
_MAPPED_BYTES: Final = 8 * 1024 * 1024


class DecompressedTooLarge(KafkaError):
    """The bytes may be valid, but they are too many."""


def compress(codec: int, data: Buffer) -> Buffer:
    if codec == NONE:
        return data
    if codec == SNAPPY:
        return _compress_xerial(memoryview(data))
    if codec == LZ4:
        return _compress_lz4(memoryview(data))
    return bytes(_stream(codec).compress(data))


def decompress(codec: int, data: Buffer, limit: int) -> Buffer:
    """The bytes behind `data`. Raises KafkaError CORRUPT_MESSAGE if they are broken or more than `limit`."""
    if codec == NONE:
        return data
    try:
        if codec == SNAPPY:
            return _decompress_snappy(memoryview(data), limit)
        return _decompress_stream(_stream(codec), data, limit)
    except (cramjam.DecompressionError, OSError, ValueError) as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{CODEC_NAMES[codec]}: {error}") from None


def _stream(codec: int) -> Any:
    try:
        return _STREAMS[codec]
    except KeyError:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"unknown compression codec {codec}") from None


def _decompress_stream(stream: Any, data: Buffer, limit: int) -> Buffer:
    """Decompress into a buffer that grows fourfold until the output fits or the limit is reached."""
    size = min(limit, max(_FIRST_OUTPUT_BYTES, 4 * len(data)))
    while True:
        output = _output(size)
        try:
            written = stream.decompress_into(data, output)
            return memoryview(output)[:written]
        except cramjam.DecompressionError as error:
            if _OUTPUT_FULL not in str(error):
                raise
            if size >= limit:
                raise _too_large(limit) from None
            size = min(limit, 4 * size)


def _output(size: int) -> bytearray | mmap:
    """Room for output. Large ones are mapped: a bytearray is filled with zeros first, which holds up all threads."""
    return bytearray(size) if size < _MAPPED_BYTES else mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)


def _compress_xerial(data: memoryview) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _compress_lz4(data: memoryview) -> bytes:
    """A frame of independent blocks, which is all that Java clients read; cramjam's own frames link their blocks."""
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        block = data[start : start + _LZ4_BLOCK_BYTES]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts += (_LZ4_BLOCK_LENGTH.pack(len(packed)), packed)
        else:
            parts += (_LZ4_BLOCK_LENGTH.pack(len(block) | _LZ4_UNCOMPRESSED), bytes(block))
    parts.append(_LZ4_BLOCK_LENGTH.pack(0))
    return b"".join(parts)


def _decompress_snappy(data: memoryview, limit: int) -> Buffer:
    """Decompress snappy blocks. A block states its size, so nothing is allocated for one that is false or too large."""
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_block(data, limit)
    output = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + _BLOCK_LENGTH.size > len(data):
            raise ValueError("a block's length is cut off")
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        position += _BLOCK_LENGTH.size
        if length < 0 or position + length > len(data):
            raise ValueError(f"a block of {length} bytes does not fit")
        output += _decompress_block(data[position : position + length], limit - len(output))
        position += length
    return output


def _decompress_block(block: memoryview, limit: int) -> bytes:
    # Snappy cannot shrink anything below a 60th or so: a block that claims more is refused before it costs
    # memory.
    claimed = cramjam.snappy.decompress_raw_len(block)
    if claimed > limit:
        raise _too_large(limit)
    if claimed > 64 * len(block) + 64:
        raise ValueError(f"{len(block)} bytes cannot hold {claimed}")
    return bytes(cramjam.snappy.decompress_raw(block))


def _too_large(limit: int) -> DecompressedTooLarge:
    return DecompressedTooLarge(ErrorCode.CORRUPT_MESSAGE, f"the batch decompresses to more than {limit} bytes")
