"""Hand-written Produce: one batch for one partition, sent without a copy."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.client.connection import Connection, UnderWay
from penstock.model.batch import CRC_START, TRANSACTIONAL_BIT
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.primitives import INT32, write_string, write_unsigned_varint

PRODUCE_VERSION = 12
INIT_PRODUCER_ID_VERSION = 4
IN_FLIGHT = 5
"""The number of batches that a broker remembers of one producer and partition."""
ACKS_ALL = -1
TIMEOUT_MS = 30_000
_ACKS_TIMEOUT = Struct(">hi")
_INDEX_ERROR_OFFSET = Struct(">ihq")
_CRC_AT, _ATTRIBUTES_AT, _NUMBERS_AT = 17, 21, 43  # in a batch
_CRC = Struct(">I")
_NUMBERS = Struct(">qhi")  # producer id, epoch, sequence
_END = b"\0\0\0"  # no tags of the partition, the topic, the request


class Identity(NamedTuple):
    producer_id: int
    epoch: int


class Acknowledged(NamedTuple):
    error: int
    base_offset: int


def sign(batch: bytearray | memoryview, sender: Identity, sequence: int, *, transactional: bool) -> None:
    """Write the producer's identity and sequence into a batch, and renew its checksum."""
    if transactional:
        batch[_ATTRIBUTES_AT + 1] |= TRANSACTIONAL_BIT
    _NUMBERS.pack_into(batch, _NUMBERS_AT, *sender, sequence)
    _CRC.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[CRC_START:]))


def send_produce(
    connection: Connection, place: TopicPartition, batch: bytearray | memoryview | bytes, transactional_id: str | None
) -> UnderWay:
    """Send a batch with acks=all; `receive_produce` returns the answer."""
    before = write_string(transactional_id, True) + _ACKS_TIMEOUT.pack(ACKS_ALL, TIMEOUT_MS)
    before += b"\2" + write_string(place.topic, True) + b"\2" + INT32.pack(place.partition)
    return connection.send(
        PRODUCE, PRODUCE_VERSION, before + write_unsigned_varint(len(batch) + 1), batch, _END, flexible=True
    )


def receive_produce(sent: UnderWay, place: TopicPartition) -> Acknowledged:
    answer = sent.answer()
    at = INT32.size + 1 + 1 + len(write_string(place.topic, True)) + 1  # header, one topic, its name, one partition
    _, error, base_offset = _INDEX_ERROR_OFFSET.unpack_from(answer, at)
    return Acknowledged(error, base_offset)
