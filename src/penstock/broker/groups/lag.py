"""How far groups are behind: the committed offset against the high watermark, in the partitions that exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.offsets.group_offsets import Table
from penstock.cluster.partitions import PartitionTable
from penstock.model.errors import KafkaError
from penstock.observability.exposition import LagSample


def group_lag(partitions: PartitionTable, group_id: str, visible: Table) -> Iterator[LagSample]:
    """Samples of one group, one for each partition with a committed offset, whose log is opened if it was not.

    Other work may run between two samples.
    """
    for topic, committed_offsets in tuple(visible.items()):
        for index, committed in tuple(committed_offsets.items()):
            try:
                partition = partitions.get(topic, index)
                lag = max(0, partition.high_watermark - max(committed.offset, partition.log_start))
            except KafkaError:
                continue  # the topic is gone, or its log
            yield LagSample(group_id, topic, index, committed.offset, lag)


def all_lags(partitions: PartitionTable, shards: Iterable[Shard]) -> Iterator[LagSample]:
    """Samples of every group. Other work may run between two samples."""
    for shard in shards:
        for group_id in shard.offsets.committed_ids:
            yield from group_lag(partitions, group_id, shard.offsets.visible(group_id))
