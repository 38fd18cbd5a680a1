"""The dead-letter topic of a subscription, `<topic>.<subscription>.dead`: what was delivered too often and never done.

A dead letter is the message with its key, body and properties, and with where it came from in further headers. It is
on disk before its offset counts as done; a crash in between can put it there twice.
"""

from __future__ import annotations

import asyncio

from penstock.broker.subscriptions.desk import Desk
from penstock.broker.subscriptions.feed import Found
from penstock.broker.subscriptions.redelivery import Dead
from penstock.cluster.controller import Controller
from penstock.cluster.new_topic import NewTopic
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.data import decode_items
from penstock.runtime.clock import Clock


def dead_letter_topic(topic: str, subscription: str) -> str:
    return f"{topic}.{subscription}.dead"


class DeadLetters:
    def __init__(self, *, topics: TopicTable, partitions: PartitionTable, controller: Controller, clock: Clock) -> None:
        self._topics = topics
        self._partitions = partitions
        self._controller = controller
        self._clock = clock

    async def bury(self, desk: Desk, dead: Dead, found: Found) -> None:
        topic = await self._topic(dead_letter_topic(desk.topic, desk.name))
        partition = self._partitions.get(topic.name, dead.partition % topic.partition_count)
        item, _ = found.messages[dead.offset]
        (message,), _ = decode_items(item, 0, 1)
        origin = {
            "dead-letter-topic": desk.topic,
            "dead-letter-partition": str(dead.partition),
            "dead-letter-offset": str(dead.offset),
            "dead-letter-subscription": desk.name,
            "dead-letter-deliveries": str(dead.deliveries),
            "dead-letter-reason": f"not acknowledged after {dead.deliveries} deliveries",
        }
        own = tuple((name.decode("utf-8", "surrogateescape"), value) for name, value in message.properties)
        # The message's own time to live ended with its subscription's attempts: nobody would see it otherwise.
        headers = (
            *((name, value) for name, value in own if name != "ttl-ms"),
            *((name, text.encode()) for name, text in origin.items()),
        )
        now_ms = self._clock.now_ms()
        batch = build_batch([NewRecord(message.key, message.body, headers)], timestamp=now_ms)
        appended = partition.append(batch, read_header(batch), now_ms)
        flushed = asyncio.Event()
        if not partition.when_flushed(appended.last_offset, flushed.set):
            await flushed.wait()
        if partition.high_watermark <= appended.last_offset:
            raise KafkaError(partition.failure)

    async def _topic(self, name: str) -> Topic:
        topic = self._topics.get(name)
        if topic is None:
            (made,) = await self._controller.create_topics([NewTopic(name=name)])
            if isinstance(made, KafkaError) and made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise made
            topic = self._topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        return topic
