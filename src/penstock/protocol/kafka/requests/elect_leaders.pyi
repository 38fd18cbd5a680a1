"""ElectLeaders, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class TopicPartitions:
    topic: str
    partitions: tuple[int, ...]

class ElectLeadersRequest:
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout: timedelta
    election_type: int  # v1+

class TopicPartitionsValues(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class ElectLeadersRequestValues(TypedDict, total=False):
    topic_partitions: Sequence[TopicPartitionsValues] | None
    timeout: timedelta | int
    election_type: int  # v1+
