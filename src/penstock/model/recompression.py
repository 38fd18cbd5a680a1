"""A batch under another codec: for topics whose `compression.type` is not `producer`.

Records stay as they are, only the bytes around them change, so nothing is decoded. Decompression is bounded.
"""

from __future__ import annotations

from crc32c import crc32c

from penstock.model.batch import (
    CODEC_MASK,
    CRC_START,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    BatchHeader,
    Buffer,
    write_header,
)
from penstock.model.compression import CODEC_NAMES, compress
from penstock.model.records import records_payload


def recompress(
    batch: memoryview, header: BatchHeader, compression_type: str
) -> tuple[bytearray | memoryview, BatchHeader]:
    """The batch and its header under `compression_type` (a codec's name, or `uncompressed`)."""
    codec = 0 if compression_type == "uncompressed" else CODEC_NAMES.index(compression_type)
    if header.codec == codec:
        return batch, header
    body: Buffer = compress(codec, records_payload(batch, header))
    out = bytearray(HEADER_BYTES + len(body))
    out[HEADER_BYTES:] = body
    header = header._replace(
        batch_length=len(out) - LOG_OVERHEAD_BYTES, attributes=header.attributes & ~CODEC_MASK | codec
    )
    write_header(out, header)
    header = header._replace(crc=crc32c(memoryview(out)[CRC_START:]))
    write_header(out, header)
    return out, header
