"""The partition of an internal topic that a key lives in: Kafka's rule, so that its tools look in the right place."""

from __future__ import annotations

import functools


@functools.lru_cache(maxsize=1 << 16)
def java_hash(text: str) -> int:
    """`String.hashCode` of Java, taken as unsigned: over UTF-16 code units, in 32 bits."""
    value = 0
    if text.isascii():
        for unit in text.encode():
            value = (value * 31 + unit) & 0xFFFFFFFF
        return value
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (value * 31 + (encoded[position] << 8 | encoded[position + 1])) & 0xFFFFFFFF
    return value


def partition_of(group_id: str, partition_count: int) -> int:
    """The absolute value of the hash, not its lower 31 bits as for keys of messages; the smallest int32 counts as 0."""
    value = java_hash(group_id)
    if value > 0x7FFFFFFF:
        value = (1 << 32) - value
    return value % partition_count if value != 1 << 31 else 0
