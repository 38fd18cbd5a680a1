"""aiokafka."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.compat.secured.client import DEADLINE_S, Door, Exchanged, SecuredClient, Streamed
from tests.compat.secured.kafka_python import options_of


class Aiokafka(SecuredClient):
    name = "aiokafka"
    denied = "TopicAuthorizationFailedError"
    distrusts = ("certificate verify failed", "certificate is not valid for '127.0.0.1'")
    logs_in_again = False

    @staticmethod
    def _options(door: Door) -> dict[str, Any]:
        """It is given a context, which its users make with Python's own defaults."""
        if "ssl.ca.location" not in door.properties:
            return options_of(door)
        certificate = door.broker.client if door.listener == "MUTUAL" else None
        return {**options_of(door), "ssl_context": door.broker.authority.client_context(certificate)}

    def _producer(self, door: Door) -> AIOKafkaProducer:
        return AIOKafkaProducer(**self._options(door), acks="all", enable_idempotence=True)

    def _consumer(self, door: Door, topic: str, group: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(topic, **self._options(door), group_id=group, auto_offset_reset="earliest")

    def exchange(self, door: Door, topic: str, closed: str, group: str, values: Sequence[str]) -> Exchanged:
        async def run() -> Exchanged:
            refusal = ""
            async with self._producer(door) as producer:
                await asyncio.gather(*[await producer.send(topic, value.encode()) for value in values])
                try:
                    await producer.send_and_wait(closed, b"no right")
                except KafkaError as error:
                    refusal = type(error).__name__
            async with self._consumer(door, topic, group) as consumer:
                return Exchanged([(await consumer.getone()).value.decode() for _ in values], refusal)

        return asyncio.run(asyncio.wait_for(run(), DEADLINE_S))

    def distrust(self, door: Door) -> str:
        """The reason is in its log."""
        told: list[str] = []

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                told.append(record.getMessage())

        async def run() -> str:
            producer = self._producer(door)
            try:
                await producer.start()
            except KafkaError as error:
                return "\n".join([*told, str(error)])
            finally:
                await producer.stop()
            raise AssertionError("it has connected")

        listener, logger = Listener(), logging.getLogger("aiokafka")
        logger.addHandler(listener)
        try:
            return asyncio.run(asyncio.wait_for(run(), DEADLINE_S))
        finally:
            logger.removeHandler(listener)

    def stream(self, door: Door, topic: str, group: str, seconds: float) -> Streamed:
        async def run() -> Streamed:
            found: list[str] = []
            last = ""  # known when all are sent
            async with self._producer(door) as producer, self._consumer(door, topic, group) as consumer:

                async def read() -> None:
                    async for record in consumer:
                        found.append(record.value.decode())
                        if found[-1] == last:
                            return

                reader = asyncio.create_task(read())
                futures: list[asyncio.Future[Any]] = []
                until = 0.0
                while not until or time.monotonic() < until:
                    futures.append(await producer.send(topic, str(len(futures)).encode()))
                    await asyncio.sleep(0.01)
                    if found and not until:
                        until = time.monotonic() + seconds
                await asyncio.gather(*futures)
                last = str(len(futures) - 1)
                if last in found:
                    reader.cancel()
                await asyncio.wait([reader])
            return Streamed([str(number) for number in range(len(futures))], found)

        return asyncio.run(asyncio.wait_for(run(), seconds + DEADLINE_S))
