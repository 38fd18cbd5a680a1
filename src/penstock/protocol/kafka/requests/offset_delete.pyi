"""OffsetDelete, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class OffsetDeleteRequestPartition:
    partition_index: int

class OffsetDeleteRequestTopic:
    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]

class OffsetDeleteRequest:
    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]

class OffsetDeleteRequestPartitionValues(TypedDict, total=False):
    partition_index: int

class OffsetDeleteRequestTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetDeleteRequestPartitionValues]

class OffsetDeleteRequestValues(TypedDict, total=False):
    group_id: str
    topics: Sequence[OffsetDeleteRequestTopicValues]
