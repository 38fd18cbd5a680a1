"""One kind of record in `__consumer_offsets`: how its key and value are read and written.

The first two bytes of a key are its kind; Kafka calls them the version of the key. A value begins with a version of its
own. A null value is a tombstone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.broker.coordination.record_primitives import MalformedRecord, Reader
from penstock.model.batch_builder import NewRecord

K = TypeVar("K")
V = TypeVar("V")
Data = bytes | memoryview

KEY_STRING_BYTES_MAX = 0x7FFF  # the longest int16 length: group ids, topics, member and protocol names


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind(Generic[K, V]):
    """Functions for one kind. `decode_key` continues after the version; all decoders may raise MalformedRecord."""

    name: str
    key_versions: tuple[int, ...]
    decode_key: Callable[[Reader], K]
    encode_key: Callable[[K], bytes]
    decode_value: Callable[[Data], V]
    encode_value: Callable[[V], bytes]

    def record(self, key: K, value: V | None) -> NewRecord:
        """The record that stores a value, or without one a tombstone."""
        return NewRecord(self.encode_key(key), None if value is None else self.encode_value(value))


def value_version(value: Data, newest: int) -> int:
    """The version of a value; MalformedRecord if it is above the newest that is known."""
    version = Reader(value).int16()
    if not 0 <= version <= newest:
        raise MalformedRecord(f"version {version} is not one of 0 to {newest}")
    return version
