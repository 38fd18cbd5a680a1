"""DescribeQuorum, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class PartitionData:
    partition_index: int

class TopicData:
    topic_name: str
    partitions: tuple[PartitionData, ...]

class DescribeQuorumRequest:
    topics: tuple[TopicData, ...]

class PartitionDataValues(TypedDict, total=False):
    partition_index: int

class TopicDataValues(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[PartitionDataValues]

class DescribeQuorumRequestValues(TypedDict, total=False):
    topics: Sequence[TopicDataValues]
