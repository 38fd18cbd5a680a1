"""The answer of DescribeTransactions v0 by hand: its start time is -1 where nothing was begun, which kio cannot say.

throttle int32, [error int16, id string, state string, timeout int32, start int64, producer id int64, epoch int16,
                 [topic string, [partition int32]]]                              flexible, no tagged fields
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from penstock.model.limits import TAGGED_FIELDS_MAX
from penstock.protocol.kafka.primitives import (
    INT16,
    INT32,
    Buffer,
    read_count,
    read_string,
    skip_tagged_fields,
    write_count,
    write_string,
)

_TIMES_AND_PRODUCER = Struct(">iqqh")
_NO_TAGS = b"\0"


class DescribedTransaction(NamedTuple):
    error: int
    transactional_id: str
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: tuple[tuple[str, tuple[int, ...]], ...] = ()


def encode(each: DescribedTransaction) -> bytes:
    """One element of the array."""
    out = bytearray(INT16.pack(each.error) + write_string(each.transactional_id, True) + write_string(each.state, True))
    out += _TIMES_AND_PRODUCER.pack(each.timeout_ms, each.start_ms, each.producer_id, each.producer_epoch)
    out += write_count(len(each.topics), True)
    for topic, indexes in each.topics:
        out += write_string(topic, True) + write_count(len(indexes), True)
        out += b"".join(map(INT32.pack, indexes)) + _NO_TAGS
    return bytes(out + _NO_TAGS)


def decode(answer: Buffer, position: int) -> list[DescribedTransaction]:
    body = memoryview(answer)
    count, position = read_count(body, position + 4, True)
    transactions = []
    for _ in range(count):
        (error,) = INT16.unpack_from(body, position)
        transactional_id, position = read_string(body, position + 2, True)
        state, position = read_string(body, position, True)
        timeout_ms, start_ms, producer_id, epoch = _TIMES_AND_PRODUCER.unpack_from(body, position)
        topic_count, position = read_count(body, position + _TIMES_AND_PRODUCER.size, True)
        topics = []
        for _ in range(topic_count):
            topic, position = read_string(body, position, True)
            index_count, position = read_count(body, position, True)
            indexes = tuple(INT32.unpack_from(body, position + 4 * each)[0] for each in range(index_count))
            position = skip_tagged_fields(body, position + 4 * index_count, [TAGGED_FIELDS_MAX])
            topics.append((topic or "", indexes))
        position = skip_tagged_fields(body, position, [TAGGED_FIELDS_MAX])
        transactions.append(
            DescribedTransaction(
                error, transactional_id or "", state or "", timeout_ms, start_ms, producer_id, epoch, tuple(topics)
            )
        )
    return transactions
