"""DescribeProducers, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class TopicRequest:
    name: str
    partition_indexes: tuple[int, ...]

class DescribeProducersRequest:
    topics: tuple[TopicRequest, ...]

class TopicRequestValues(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class DescribeProducersRequestValues(TypedDict, total=False):
    topics: Sequence[TopicRequestValues]
