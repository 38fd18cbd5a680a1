"""Dead letters of messages that a handler gave up on: the original, with the reason in its properties."""

from __future__ import annotations

import asyncio
import logging

from penstock.client.push.async_client import AsyncBrokerClient
from penstock.client.push.errors import BrokerClientError, BrokerRefused, UnknownTopic
from penstock.client.push.message import Message
from penstock.client.transient_errors import TRANSIENT

logger = logging.getLogger(__name__)

TEXT_CHARACTERS_MAX = 1000
PAUSE_S = 1.0


def dead_letter_topic(topic: str, group: str) -> str:
    return f"{topic}.{group}.dead"


class DeadLetters:
    """The dead-letter topic of one consumer; it is created with its first message."""

    def __init__(self, client: AsyncBrokerClient, topic: str, group: str, consumer: str) -> None:
        self.topic = dead_letter_topic(topic, group)
        self._client = client
        self._consumer = consumer

    async def write(self, message: Message, error: Exception, attempts: int, stopping: asyncio.Event) -> bool:
        """Write a dead letter, and retry until it is stored, however long the broker is away; False only when stopping.

        Raises BrokerRefused for one that the broker does not take, such as one that is too large with its reason.
        """
        # Its time to live ended with its attempts; otherwise the dead letter would expire unseen.
        own = [(name, value) for name, value in message.headers if name != b"ttl-ms"]
        properties = [*own, *self._reason(message, error, attempts)]
        while not stopping.is_set():
            try:
                await self._write(message, properties)
                return True
            except BrokerClientError as problem:
                if isinstance(problem, BrokerRefused) and problem.code not in TRANSIENT:
                    raise
                logger.warning("dead letter for %r not stored yet: %s", message, problem)
            try:
                await asyncio.wait_for(stopping.wait(), PAUSE_S)
            except TimeoutError:
                pass
        return False

    async def _write(self, message: Message, properties: list[tuple[bytes, bytes | None]]) -> None:
        try:
            await self._client.partition_count(self.topic)
        except UnknownTopic:
            await self._client.create_topic(self.topic)
        await self._client.publish(self.topic, message.body, message.key, properties)

    def _reason(self, message: Message, error: Exception, attempts: int) -> list[tuple[bytes, bytes | None]]:
        headers = {
            "dead-letter-topic": message.topic,
            "dead-letter-partition": message.partition,
            "dead-letter-offset": message.sequence_number,
            "dead-letter-timestamp": message.timestamp,
            "dead-letter-subscription": message.subscription,
            "dead-letter-deliveries": message.delivery_count,
            "dead-letter-attempts": attempts,
            "dead-letter-consumer": self._consumer,
            "dead-letter-error": type(error).__name__,
            "dead-letter-reason": str(error)[:TEXT_CHARACTERS_MAX],
        }
        return [(name.encode(), str(value).encode("utf-8", "surrogateescape")) for name, value in headers.items()]
