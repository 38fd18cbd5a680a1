"""Produce, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict
from uuid import UUID

class PartitionProduceData:
    index: int
    records: bytes | None

class TopicProduceData:
    name: str  # v3 to v12
    partition_data: tuple[PartitionProduceData, ...]
    topic_id: UUID | None  # v13+

class ProduceRequest:
    transactional_id: str | None
    acks: int
    timeout: timedelta
    topic_data: tuple[TopicProduceData, ...]

class PartitionProduceDataValues(TypedDict, total=False):
    index: int
    records: bytes | None

class TopicProduceDataValues(TypedDict, total=False):
    name: str  # v3 to v12
    partition_data: Sequence[PartitionProduceDataValues]
    topic_id: UUID | None  # v13+

class ProduceRequestValues(TypedDict, total=False):
    transactional_id: str | None
    acks: int
    timeout: timedelta | int
    topic_data: Sequence[TopicProduceDataValues]
