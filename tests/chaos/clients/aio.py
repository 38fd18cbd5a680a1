"""aiokafka, which speaks the first generation of the protocol, in its oldest versions.

Its event loop runs during calls only; nothing in a transaction needs it in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from penstock.testing.consistency.history import Generation, Outcome
from tests.chaos.clients.transactional import PATIENCE_SECONDS, Delivery, Message, Settings, Trouble

CLOSE_SECONDS = 3.0


class AioClient:
    generation = Generation.V1

    def __init__(self, settings: Settings) -> None:
        self._group = settings.group
        self._loop = asyncio.new_event_loop()
        self._producer = self._run(self._made(settings))

    async def _made(self, settings: Settings) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=settings.bootstrap,
            transactional_id=settings.transactional_id,
            transaction_timeout_ms=settings.timeout_ms,
            request_timeout_ms=settings.timeout_ms,
            retry_backoff_ms=50,
        )

    def _run(self, work: Coroutine[Any, Any, Any], seconds: float = PATIENCE_SECONDS) -> Any:
        try:
            return self._loop.run_until_complete(asyncio.wait_for(work, seconds))
        except (KafkaError, TimeoutError, OSError, RuntimeError, AssertionError) as error:
            raise Trouble(repr(error)) from error

    def start(self) -> None:
        self._run(self._producer.start())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, messages: list[Message]) -> list[Delivery]:
        deliveries: list[Delivery] = self._run(self._send(messages))
        return deliveries

    async def _send(self, messages: list[Message]) -> list[Delivery]:
        futures = [
            await self._producer.send(
                each.topic, each.value.encode(), key=each.key.encode(), partition=each.partition_index
            )
            for each in messages
        ]
        answers = await asyncio.gather(*futures, return_exceptions=True)
        return [
            Delivery(Outcome.UNKNOWN) if isinstance(answer, BaseException) else Delivery(Outcome.OK, answer.offset)
            for answer in answers
        ]

    def send_offset(self, topic: str, partition_index: int, offset: int) -> None:
        offsets = {TopicPartition(topic, partition_index): offset}
        self._run(self._producer.send_offsets_to_transaction(offsets, self._group))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        try:
            self._run(self._producer.stop(), CLOSE_SECONDS)
        except Trouble:
            pass
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
