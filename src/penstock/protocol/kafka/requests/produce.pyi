"""Produce, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
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
