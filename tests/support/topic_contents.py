"""All committed records of a topic, read with librdkafka, which shares no code with Penstock."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from tests.support.raw_client import unique_name


class Seen(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


def topic_contents(bootstrap: str, topic: str) -> list[Seen]:
    """The records in the order of offsets within each partition, without aborted ones."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": unique_name("reader"),
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
            "enable.metrics.push": False,
        }
    )
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in partitions])
    found: list[Seen] = []
    ended: set[int | None] = set()
    try:
        while len(ended) < len(partitions):
            for message in consumer.consume(1000, 0.05):
                error = message.error()
                if error is None:
                    headers = tuple(message.headers() or ())
                    time_ms = message.timestamp()[1]
                    found.append(
                        Seen(message.partition(), message.offset(), message.key(), message.value(), time_ms, headers)  # type: ignore[arg-type]
                    )
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise AssertionError(error)
    finally:
        consumer.close()
    return sorted(found)
