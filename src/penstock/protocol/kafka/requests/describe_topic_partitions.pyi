"""DescribeTopicPartitions, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class TopicRequest:
    name: str

class Cursor:
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsRequest:
    topics: tuple[TopicRequest, ...]
    response_partition_limit: int
    cursor: Cursor | None

class TopicRequestValues(TypedDict, total=False):
    name: str

class CursorValues(TypedDict, total=False):
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsRequestValues(TypedDict, total=False):
    topics: Sequence[TopicRequestValues]
    response_partition_limit: int
    cursor: CursorValues | None
