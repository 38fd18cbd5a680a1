"""Offsets of partitions: the first, the last, those of a time; and the progress of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from penstock.client.answer_error import check
from penstock.client.cluster import GROUP, Cluster
from penstock.client.connection import Connection
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH

if TYPE_CHECKING:
    from penstock.protocol.kafka.requests.offset_commit import (
        OffsetCommitRequestPartitionValues,
        OffsetCommitRequestTopicValues,
    )

LIST_OFFSETS_VERSION = 7
OFFSET_COMMIT_VERSION = 8
OFFSET_FETCH_VERSION = 7
EARLIEST, LATEST = -2, -1
NOT_FOUND = -1


class Bounds(NamedTuple):
    """The first offset in the log, and the end of what may be read."""

    start: int
    end: int


def bounds(cluster: Cluster, places: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, Bounds]:
    places = list(places)
    starts = list_offsets(cluster, dict.fromkeys(places, EARLIEST), committed=committed)
    ends = list_offsets(cluster, dict.fromkeys(places, LATEST), committed=committed)
    return {place: Bounds(starts[place], ends[place]) for place in places}


def list_offsets(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], *, committed: bool
) -> dict[TopicPartition, int]:
    """Offsets by timestamp in ms, EARLIEST or LATEST; NOT_FOUND where no record is that new.

    With `committed`, LATEST is the last stable offset: records behind it may still be aborted.
    """
    return cluster.patiently(lambda: _list_offsets(cluster, wanted, committed))


def _list_offsets(cluster: Cluster, wanted: Mapping[TopicPartition, int], committed: bool) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for connection, places in _by_leader(cluster, wanted).items():
        answer = connection.call(
            LIST_OFFSETS,
            LIST_OFFSETS_VERSION,
            replica_id=-1,
            isolation_level=int(committed),
            topics=[
                {
                    "name": topic,
                    "partitions": [
                        {
                            "partition_index": index,
                            "current_leader_epoch": -1,
                            "timestamp": wanted[TopicPartition(topic, index)],
                        }
                        for index in indexes
                    ],
                }
                for topic, indexes in _by_topic(places).items()
            ],
        )
        for topic in answer.topics:
            for each in topic.partitions:
                place = TopicPartition(topic.name, each.partition_index)
                check(each.error_code, str(place))
                found[place] = each.offset
    return found


def _by_leader(cluster: Cluster, places: Iterable[TopicPartition]) -> dict[Connection, list[TopicPartition]]:
    grouped: dict[Connection, list[TopicPartition]] = defaultdict(list)
    for place in places:
        grouped[cluster.leader(place)].append(place)
    return grouped


def _by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = defaultdict(list)
    for place in places:
        grouped[place.topic].append(place.partition)
    return grouped


# --- groups ----------------------------------------------------------------------------------------------------------


def commit_offsets(cluster: Cluster, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit offsets as the progress of a group without members."""
    by_topic: dict[str, list[OffsetCommitRequestPartitionValues]] = defaultdict(list)
    for place, offset in offsets.items():
        by_topic[place.topic].append({"partition_index": place.partition, "committed_offset": offset})
    topics: list[OffsetCommitRequestTopicValues] = [
        {"name": topic, "partitions": partitions} for topic, partitions in by_topic.items()
    ]

    def commit() -> None:
        coordinator = cluster.coordinator(GROUP, group)
        answer = coordinator.call(
            OFFSET_COMMIT, OFFSET_COMMIT_VERSION, group_id=group, generation_id_or_member_epoch=-1, topics=topics
        )
        for topic in answer.topics:
            for each in topic.partitions:
                check(each.error_code, f"group {group}, {topic.name}-{each.partition_index}")

    cluster.patiently(commit)


def committed_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, int]:
    """Every offset that the group has committed."""

    def fetch() -> dict[TopicPartition, int]:
        coordinator = cluster.coordinator(GROUP, group)
        answer = coordinator.call(OFFSET_FETCH, OFFSET_FETCH_VERSION, group_id=group, topics=None, require_stable=True)
        check(answer.error_code, f"group {group}")
        return {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    return cluster.patiently(fetch)
