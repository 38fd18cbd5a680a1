"""Statistics of a broker, topic by topic: messages, offsets, segments and consumers."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.errors import KafkaError
from penstock.node.test_endpoints.bodies import ConsumerStats, PartitionStats, StatsBody, TopicStats
from penstock.observability.exposition import LagSample


class BrokerStats:
    """Statistics as they are when they are asked for."""

    def __init__(self, topics: TopicTable, partitions: PartitionTable, groups: GroupCoordinator) -> None:
        self._topics = topics
        self._partitions = partitions
        self._groups = groups

    async def collect(self) -> StatsBody:
        lags: defaultdict[str, list[LagSample]] = defaultdict(list)
        for sample in self._groups.lags():
            lags[sample.topic].append(sample)
        found = []
        for topic in list(self._topics.all()):
            if not topic.internal:
                found.append(self._topic(topic, lags[topic.name]))
            await asyncio.sleep(0)
        return StatsBody(topics=found, messages=sum(topic.messages for topic in found))

    def _topic(self, topic: Topic, lags: list[LagSample]) -> TopicStats:
        partitions = []
        for index in range(topic.partition_count):
            try:
                partition = self._partitions.get(topic.name, index)
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
            consumers=self._consumers(lags),
        )

    def _consumers(self, lags: list[LagSample]) -> list[ConsumerStats]:
        by_group: defaultdict[str, list[LagSample]] = defaultdict(list)
        for sample in lags:
            by_group[sample.group].append(sample)
        found = []
        for name, samples in sorted(by_group.items()):
            try:
                group = self._groups.find(name)
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
