"""kafka-python."""

import time
from collections.abc import Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.compat.clients.message import DEADLINE_S, Message


class KafkaPythonClient:
    name = "kafka-python"

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            acks="all" if acks == -1 else acks,
            enable_idempotence=acks == -1,
            compression_type=None if codec == "none" else codec,
            linger_ms=20,
        )
        sent = [
            producer.send(
                topic,
                value=message.value,
                key=message.key,
                headers=list(message.headers),
                partition=message.partition,
                timestamp_ms=message.timestamp_ms,
            )
            for message in messages
        ]
        producer.flush(DEADLINE_S)
        for each in sent:
            each.get(DEADLINE_S)
        producer.close()

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(topic, 0)])
        found: list[Message] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(found) < count and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500, max_records=count - len(found)).values():
                found += [self.read(record) for record in records]
        consumer.close()
        return found

    @staticmethod
    def read(record: Any) -> Message:
        return Message(
            key=record.key,
            value=record.value,
            headers=tuple((name, value) for name, value in record.headers),
            timestamp_ms=record.timestamp,
            partition=record.partition,
            offset=record.offset,
        )
