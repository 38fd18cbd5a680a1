"""Statistics of a broker, topic by topic: messages, offsets, segments and consumers."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from penstock.broker.broker import Broker
from penstock.cluster.topics import Topic
from penstock.model.errors import KafkaError
from penstock.node.test_endpoints.bodies import ConsumerStats, PartitionStats, StatsBody, TopicStats
from penstock.observability.exposition import LagSample


async def stats(broker: Broker) -> StatsBody:
    lags: defaultdict[str, list[LagSample]] = defaultdict(list)
    for sample in broker.groups.lags():
        lags[sample.topic].append(sample)
    found = []
    for topic in list(broker.topics.all()):
        if not topic.internal:
            found.append(_topic(broker, topic, lags[topic.name]))
        await asyncio.sleep(0)
    return StatsBody(topics=found, messages=sum(topic.messages for topic in found))


def _topic(broker: Broker, topic: Topic, lags: list[LagSample]) -> TopicStats:
    partitions = []
    for index in range(topic.partition_count):
        try:
            partition = broker.partitions.get(topic.name, index)
        except KafkaError:
            continue  # deleted meanwhile, or its log cannot be opened
        start, end = partition.log_start, partition.high_watermark
        partitions.append(
            PartitionStats(
                partition=index,
                log_start=start,
                log_end=end,
                messages=end - start,
                segments=partition.segment_count,
                size_bytes=partition.size_bytes,
            )
        )
    return TopicStats(
        topic=topic.name,
        messages=sum(each.messages for each in partitions),
        segments=sum(each.segments for each in partitions),
        size_bytes=sum(each.size_bytes for each in partitions),
        partitions=partitions,
        consumers=_consumers(broker, lags),
    )


def _consumers(broker: Broker, lags: list[LagSample]) -> list[ConsumerStats]:
    by_group: defaultdict[str, list[LagSample]] = defaultdict(list)
    for sample in lags:
        by_group[sample.group].append(sample)
    found = []
    for name, samples in sorted(by_group.items()):
        try:
            group = broker.groups.find(name)
        except KafkaError:
            group = None
        found.append(
            ConsumerStats(
                group=name,
                state="Dead" if group is None else group.state.value,
                members=0 if group is None else group.member_count,
                offsets={sample.partition: sample.committed for sample in samples},
                lag=sum(sample.lag or 0 for sample in samples),
            )
        )
    return found
