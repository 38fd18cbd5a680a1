"""confluent-kafka, which is librdkafka."""

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.compat.clients.message import DEADLINE_S, Message


class ConfluentClient:
    name = "confluent-kafka"

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "acks": acks,
                "linger.ms": 1_000,  # all in one batch: a small one is not compressed
            }
        )
        producer.list_topics(topic, timeout=30)  # else the first messages wait for it, and leave by themselves
        failures: list[KafkaError] = []

        def report(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                failures.append(error)

        for message in messages:
            producer.produce(
                topic,
                value=message.value,
                key=message.key,
                headers=list(message.headers),
                partition=message.partition,
                timestamp=message.timestamp_ms or 0,
                on_delivery=report,
            )
        assert producer.flush(DEADLINE_S) == 0
        assert not failures, failures

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[Message] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(found) < count and time.monotonic() < deadline:
            found += [self.read(each) for each in consumer.consume(count - len(found), 0.5)]
        consumer.close()
        return found

    @staticmethod
    def read(record: Any) -> Message:
        assert record.error() is None, record.error()
        return Message(
            key=record.key(),
            value=record.value(),
            headers=tuple(record.headers() or ()),
            timestamp_ms=record.timestamp()[1],
            partition=record.partition(),
            offset=record.offset(),
        )
