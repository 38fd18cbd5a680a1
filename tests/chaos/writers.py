"""A client that writes outside of transactions: librdkafka's idempotent producer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from random import Random

from confluent_kafka import Producer

from penstock.testing.consistency.history import Outcome, Write
from penstock.testing.consistency.history_file import Recorder, now
from tests.chaos.clients.confluent import QUIET, let_go, produce_all
from tests.chaos.clients.transactional import Message, Trouble
from tests.chaos.plan import KEYS, WRITES_MAX, partition_of


class PlainWriter:
    def __init__(self, bootstrap: str, recorder: Recorder, random: Random, pause_seconds: float) -> None:
        self._settings = {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 0,
            "message.timeout.ms": 15_000,
        }
        self._recorder = recorder
        self._random = random
        self._pause_seconds = pause_seconds
        self._values = 0

    def run(self, leaving: Callable[[], bool]) -> None:
        producer = Producer(self._settings)
        while not leaving():
            try:
                whole = self._write(producer)
            except Trouble:
                whole = False
            if not whole:  # the outcome is unknown, and this producer may still be writing
                let_go(producer)
                producer = Producer(self._settings)
            time.sleep(self._random.random() * self._pause_seconds)

    def _write(self, producer: Producer) -> bool:
        messages, writes = [], []
        for _ in range(self._random.randint(1, WRITES_MAX)):
            key = self._random.choice(KEYS)
            self._values += 1
            value = f"{self._recorder.client}:{self._values}"
            messages.append(Message(*partition_of(key), key, value))
            writes.append(
                Write(
                    client=self._recorder.client,
                    number=self._recorder.number(),
                    started=now(),
                    topic=messages[-1].topic,
                    partition_index=messages[-1].partition_index,
                    value=value,
                )
            )
        self._recorder.note(*writes)
        deliveries = produce_all(producer, messages)
        for write, delivery in zip(writes, deliveries, strict=True):
            if delivery.outcome is Outcome.OK:
                self._recorder.note(replace(write, outcome=Outcome.OK, offset=delivery.offset, ended=now()))
        return all(delivery.outcome is Outcome.OK for delivery in deliveries)
