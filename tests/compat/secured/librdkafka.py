"""librdkafka, as confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer

from tests.compat.secured.client import DEADLINE_S, Door, Exchanged, SecuredClient, Streamed
from tests.support.waiting import wait_until


class Librdkafka(SecuredClient):
    name = "librdkafka"
    denied = "TOPIC_AUTHORIZATION_FAILED"
    distrusts = ("certificate verify failed", "certificate verify failed")

    @staticmethod
    def _config(door: Door, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": door.address, **door.properties, **more}

    def _producer(self, door: Door) -> Producer:
        return Producer(self._config(door, **{"enable.idempotence": True, "linger.ms": 5}))

    def reader(self, door: Door, topic: str, group: str) -> Consumer:
        consumer = Consumer(self._config(door, **{"group.id": group, "auto.offset.reset": "earliest"}))
        consumer.subscribe([topic])
        return consumer

    def exchange(self, door: Door, topic: str, closed: str, group: str, values: Sequence[str]) -> Exchanged:
        reports: list[tuple[str, str]] = []

        def reported(error: KafkaError | None, message: Message) -> None:
            reports.append((message.topic() or "", "" if error is None else error.name()))

        producer = self._producer(door)
        for value in values:
            producer.produce(topic, value, on_delivery=reported)
        producer.produce(closed, "no right", on_delivery=reported)
        assert producer.flush(DEADLINE_S) == 0
        assert [error for name, error in reports if name == topic] == [""] * len(values)
        consumer = self.reader(door, topic, group)
        found: list[str] = []
        wait_until(lambda: len(self.read(consumer, found)) >= len(values), what="all messages are read")
        consumer.close()
        return Exchanged(found, *[error for name, error in reports if name == closed])

    def distrust(self, door: Door) -> str:
        errors: list[KafkaError] = []
        producer = Producer(self._config(door, error_cb=errors.append))

        def of_tls() -> list[KafkaError]:
            """Among others: it may say first that all brokers are down."""
            producer.poll(0.1)
            return [error for error in errors if error.code() == KafkaError._SSL]

        return str(wait_until(of_tls, what="the client reports an error of TLS")[0])

    def stream(self, door: Door, topic: str, group: str, seconds: float) -> Streamed:
        sent: list[str] = []

        def reported(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            sent.append((message.value() or b"").decode())

        producer, consumer = self._producer(door), self.reader(door, topic, group)
        found: list[str] = []
        number, until = 0, 0.0
        while not until or time.monotonic() < until:
            producer.produce(topic, str(number), on_delivery=reported)
            number += 1
            producer.poll(0.005)
            if self.read(consumer, found, 0.005) and not until:
                until = time.monotonic() + seconds
        assert producer.flush(DEADLINE_S) == 0
        assert len(sent) == number
        wait_until(lambda: len(self.read(consumer, found)) >= number, what="all messages are read")
        consumer.close()
        return Streamed(sent, found)

    @staticmethod
    def read(consumer: Consumer, found: list[str], timeout_s: float = 0.5) -> list[str]:
        for message in consumer.consume(1_000, timeout_s):
            assert message.error() is None, message.error()
            found.append((message.value() or b"").decode())
        return found
