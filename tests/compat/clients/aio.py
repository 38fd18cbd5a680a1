"""aiokafka, which speaks only the older, non-flexible versions of several APIs."""

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.compat.clients.message import DEADLINE_S, Message


class AioClient:
    name = "aiokafka"

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        asyncio.run(self._produce(bootstrap, topic, messages, codec, acks))

    async def _produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            acks=acks,
            compression_type=None if codec == "none" else codec,
            linger_ms=20,
        )
        async with producer:
            sent = [
                await producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            await asyncio.wait_for(asyncio.gather(*sent), DEADLINE_S)

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        return asyncio.run(self._consume(bootstrap, topic, count))

    async def _consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        # What librdkafka and kafkajs do unless they are told otherwise.
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
        await consumer.start()
        try:
            partition = TopicPartition(topic, 0)
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            found: list[Message] = []
            async with asyncio.timeout(DEADLINE_S):
                while len(found) < count:
                    record = await consumer.getone()
                    found.append(
                        Message(
                            key=record.key,
                            value=record.value,
                            headers=tuple(record.headers),
                            timestamp_ms=record.timestamp,
                            partition=record.partition,
                            offset=record.offset,
                        )
                    )
            return found
        finally:
            await consumer.stop()
