"""OffsetFetch, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict
from uuid import UUID

class OffsetFetchRequestTopic:
    name: str
    partition_indexes: tuple[int, ...]

class OffsetFetchRequest:
    group_id: str  # v1 to v7
    topics: tuple[OffsetFetchRequestTopic, ...] | None  # v1 to v7
    groups: tuple[OffsetFetchRequestGroup, ...]  # v8+
    require_stable: bool  # v7+

class OffsetFetchRequestTopics:
    topic_id: UUID | None  # v10+
    partition_indexes: tuple[int, ...]
    name: str  # v8 to v9

class OffsetFetchRequestGroup:
    group_id: str
    member_id: str | None  # v9+
    member_epoch: int  # v9+
    topics: tuple[OffsetFetchRequestTopics, ...] | None

class OffsetFetchRequestTopicValues(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class OffsetFetchRequestValues(TypedDict, total=False):
    group_id: str  # v1 to v7
    topics: Sequence[OffsetFetchRequestTopicValues] | None  # v1 to v7
    groups: Sequence[OffsetFetchRequestGroupValues]  # v8+
    require_stable: bool  # v7+

class OffsetFetchRequestTopicsValues(TypedDict, total=False):
    topic_id: UUID | None  # v10+
    partition_indexes: Sequence[int]
    name: str  # v8 to v9

class OffsetFetchRequestGroupValues(TypedDict, total=False):
    group_id: str
    member_id: str | None  # v9+
    member_epoch: int  # v9+
    topics: Sequence[OffsetFetchRequestTopicsValues] | None
