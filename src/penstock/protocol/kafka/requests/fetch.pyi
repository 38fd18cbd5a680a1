"""Fetch, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict
from uuid import UUID

class FetchPartition:
    partition: int
    current_leader_epoch: int  # v9+
    fetch_offset: int
    log_start_offset: int  # v5+
    partition_max_bytes: int
    last_fetched_epoch: int  # v12+
    replica_directory_id: UUID | None  # v17+
    high_watermark: int  # v18+

class FetchTopic:
    topic: str  # v4 to v12
    partitions: tuple[FetchPartition, ...]
    topic_id: UUID | None  # v13+

class ForgottenTopic:
    topic: str  # v7 to v12
    partitions: tuple[int, ...]
    topic_id: UUID | None  # v13+

class FetchRequest:
    replica_id: int  # v4 to v14
    max_wait: timedelta
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int  # v7+
    session_epoch: int  # v7+
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...]  # v7+
    rack_id: str  # v11+
    cluster_id: str | None  # v12+
    replica_state: ReplicaState  # v15+

class ReplicaState:
    replica_id: int
    replica_epoch: int

class FetchPartitionValues(TypedDict, total=False):
    partition: int
    current_leader_epoch: int  # v9+
    fetch_offset: int
    log_start_offset: int  # v5+
    partition_max_bytes: int
    last_fetched_epoch: int  # v12+
    replica_directory_id: UUID | None  # v17+
    high_watermark: int  # v18+

class FetchTopicValues(TypedDict, total=False):
    topic: str  # v4 to v12
    partitions: Sequence[FetchPartitionValues]
    topic_id: UUID | None  # v13+

class ForgottenTopicValues(TypedDict, total=False):
    topic: str  # v7 to v12
    partitions: Sequence[int]
    topic_id: UUID | None  # v13+

class FetchRequestValues(TypedDict, total=False):
    replica_id: int  # v4 to v14
    max_wait: timedelta | int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int  # v7+
    session_epoch: int  # v7+
    topics: Sequence[FetchTopicValues]
    forgotten_topics_data: Sequence[ForgottenTopicValues]  # v7+
    rack_id: str  # v11+
    cluster_id: str | None  # v12+
    replica_state: ReplicaStateValues  # v15+

class ReplicaStateValues(TypedDict, total=False):
    replica_id: int
    replica_epoch: int
