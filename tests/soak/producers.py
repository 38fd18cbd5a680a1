"""Those who write numbered messages: raw connections that measure the time to the answer, and librdkafka."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from kio.schema.errors import ErrorCode

from tests.soak.ledger import Partition, code_of, message
from tests.soak.plan import LOGGED, SIZED
from tests.soak.world import PATIENCE_SECONDS, Client, World
from tests.support.batches import CODEC_NONE, CODEC_ZSTD, Record, batch

# The one whose retention goes by size comes twice: it is to reach that size soon.
PARTITIONS: list[Partition] = [(topic.name, index) for topic in (SIZED, *LOGGED) for index in range(topic.partitions)]
BATCH_MESSAGES = 20
GONE = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT)

RDKAFKA: dict[str, Any] = {
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "socket.timeout.ms": int(PATIENCE_SECONDS * 1000),
    "log_level": 0,
}


class RawProducer(Client):
    """One batch a turn, acks=all; an answer is waited for before the next, so a loss leaves one batch in doubt."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, f"raw producer {number}")
        self._number = number
        self._sequence = 0

    def turn(self) -> None:
        topic, index = self.random.choice(PARTITIONS)
        first = self._sequence
        self._sequence += BATCH_MESSAGES
        numbers = range(first, self._sequence)
        records = batch(
            [Record(value=message(self._number, number)) for number in numbers],
            codec=self.random.randint(CODEC_NONE, CODEC_ZSTD),
        )
        client = self.raw
        sent = time.perf_counter()
        answer = client.produce(topic, records, partition=index)
        self.world.note_latency(time.perf_counter() - sent)
        if answer.error_code != ErrorCode.none:
            self.world.problem(f"{self.name}: {answer}")
            return
        ledger = self.world.ledger.partitions[topic, index]
        for offset, number in enumerate(numbers, int(answer.base_offset)):
            ledger.acknowledge(offset, code_of(self._number, number))


class LibrdkafkaProducer(Client):
    """A few messages a turn through confluent-kafka. An idempotent one never gives up and must never fail."""

    pause = 0.05

    def __init__(self, world: World, number: int, *, idempotent: bool, codec: str, messages: int = 7) -> None:
        super().__init__(world, f"{'idempotent' if idempotent else 'plain'} producer {number}")
        self._number = number
        self._idempotent = idempotent
        self._messages = messages
        self._sequence = 0
        reliably: dict[str, Any] = {"enable.idempotence": True, "message.timeout.ms": 0}
        once: dict[str, Any] = {"acks": 1, "retries": 0, "max.in.flight": 1}
        self._producer = Producer(
            {
                "bootstrap.servers": world.broker.bootstrap,
                "compression.type": codec,
                "linger.ms": 5,
                **RDKAFKA,
                **(reliably if idempotent else once),
            }
        )

    def turn(self) -> None:
        self._producer.poll(0)
        if len(self._producer) > 10_000:
            return  # the broker is being restarted
        for _ in range(self._messages):
            topic, index = self.random.choice(PARTITIONS)
            number = self._sequence
            self._sequence += 1
            delivered = partial(self._delivered, (topic, index), number)
            self._producer.produce(topic, message(self._number, number), partition=index, on_delivery=delivered)

    def _delivered(self, partition: Partition, number: int, error: KafkaError | None, sent: Message) -> None:
        if error is None:
            offset = sent.offset()
            assert offset is not None
            self.world.ledger.partitions[partition].acknowledge(offset, code_of(self._number, number))
        elif self._idempotent or error.code() not in GONE:
            self.world.problem(f"{self.name}: message {number} failed: {error}")
        else:
            self.world.count("messages in doubt")

    def finish(self) -> None:
        if left := self._producer.flush(PATIENCE_SECONDS):
            self.world.problem(f"{self.name}: {left} messages were never answered")
