"""The topics that are read: filled with batches that are built once and sent many times."""

from __future__ import annotations

import json
import time
from struct import Struct

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.idempotent import IdempotentProducer
from penstock.client.topics import ensure_topic
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition

BATCH_ROWS = 1000
VALUE_BYTES = 100
_TIMES = Struct(">qq")
_TIMES_AT = 27  # base and max timestamp in a batch


def fill(
    address: Address,
    topic: str,
    rows: int,
    *,
    partitions: int,
    json_values: bool = False,
    apart_ms: int = 1,
    each_ms: int = 0,
) -> int:
    """Batches of 1,000 rows, `apart_ms` between two of them and `each_ms` between two rows. The time of the first."""
    first_ms = time.time_ns() // 1_000_000 - rows // BATCH_ROWS * apart_ms
    template = _batch(json_values, each_ms)
    with Cluster([address]) as cluster:
        ensure_topic(cluster, topic, partitions=partitions)
        producer = IdempotentProducer(cluster)
        for number in range(rows // BATCH_ROWS):
            batch = bytearray(template)
            base_ms = first_ms + number * apart_ms
            _TIMES.pack_into(batch, _TIMES_AT, base_ms, base_ms + (BATCH_ROWS - 1) * each_ms)
            producer.send(TopicPartition(topic, number % partitions), batch)
        producer.flush()
    return first_ms


def fill_few(address: Address, topic: str, rows: int) -> None:
    with Cluster([address]) as cluster:
        ensure_topic(cluster, topic, partitions=1)
        producer = IdempotentProducer(cluster)
        records = [NewRecord(b"key-%05d" % number, _value(number, False)) for number in range(rows)]
        producer.send(TopicPartition(topic, 0), build_batch(records, timestamp=time.time_ns() // 1_000_000))
        producer.flush()


def _batch(json_values: bool, each_ms: int) -> bytes:
    records = [
        NewRecord(b"key-%05d" % number, _value(number, json_values), (), number * each_ms)
        for number in range(BATCH_ROWS)
    ]
    return bytes(build_batch(records, timestamp=0))


def _value(number: int, is_json: bool) -> bytes:
    if not is_json:
        return (b"%0100d" % number)[:VALUE_BYTES]
    price = {
        "symbol": f"SYM{number % 50}",
        "price": number / 7,
        "lots": number,
        "open": number % 2 == 0,
        "day": "2026-11-16",
    }
    return json.dumps(price).encode()


SCHEMA = "symbol STRING, price DOUBLE, lots BIGINT, open BOOLEAN, day DATE"
