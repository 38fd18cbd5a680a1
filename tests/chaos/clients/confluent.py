"""confluent-kafka: librdkafka, which speaks the first generation of the protocol."""

from __future__ import annotations

import functools

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Delivered

from penstock.testing.consistency.history import Generation, Outcome
from tests.chaos.clients.transactional import PATIENCE_SECONDS, Delivery, Message, Settings, Trouble

QUIET = {"log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500, "socket.timeout.ms": 6000}


class ConfluentClient:
    generation = Generation.V1

    def __init__(self, settings: Settings) -> None:
        self._consumer = Consumer({**QUIET, "bootstrap.servers": settings.bootstrap, "group.id": settings.group})
        self._producer = Producer(
            {
                **QUIET,
                "bootstrap.servers": settings.bootstrap,
                "transactional.id": settings.transactional_id,
                "transaction.timeout.ms": settings.timeout_ms,
                "message.timeout.ms": settings.timeout_ms,
                "linger.ms": 0,
            }
        )

    def start(self) -> None:
        try:
            self._producer.init_transactions(PATIENCE_SECONDS)
        except KafkaException as error:
            raise Trouble(str(error)) from error

    def begin(self) -> None:
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            raise Trouble(str(error)) from error

    def send(self, messages: list[Message]) -> list[Delivery]:
        return produce_all(self._producer, messages)

    def send_offset(self, topic: str, partition_index: int, offset: int) -> None:
        try:
            self._producer.send_offsets_to_transaction(
                [TopicPartition(topic, partition_index, offset)],
                self._consumer.consumer_group_metadata(),
                PATIENCE_SECONDS,
            )
        except KafkaException as error:
            raise Trouble(str(error)) from error

    def commit(self) -> None:
        try:
            self._producer.commit_transaction(PATIENCE_SECONDS)
        except KafkaException as error:
            raise Trouble(str(error)) from error

    def abort(self) -> None:
        try:
            self._producer.abort_transaction(PATIENCE_SECONDS)
        except KafkaException as error:
            raise Trouble(str(error)) from error

    def close(self) -> None:
        let_go(self._producer)
        self._consumer.close()


def let_go(producer: Producer) -> None:
    """Drop messages that are still to be sent."""
    producer.purge()
    try:
        producer.flush(0)
    except KafkaException:
        pass  # a fatal error, of which its owner knows already


def produce_all(producer: Producer, messages: list[Message]) -> list[Delivery]:
    """A message that librdkafka gave up may still be written: its outcome is unknown, as after errors."""
    deliveries = [Delivery(Outcome.UNKNOWN)] * len(messages)

    def delivered_at(place: int, error: KafkaError | None, message: Delivered) -> None:
        offset = message.offset()
        if error is None:
            deliveries[place] = Delivery(Outcome.OK, -1 if offset is None else offset)

    try:
        for place, message in enumerate(messages):
            producer.produce(
                message.topic,
                message.value.encode(),
                message.key.encode(),
                message.partition_index,
                on_delivery=functools.partial(delivered_at, place),
            )
        producer.flush(PATIENCE_SECONDS)
    except (KafkaException, BufferError) as error:
        raise Trouble(str(error)) from error
    return deliveries
