"""Metadata, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict
from uuid import UUID

class MetadataRequestTopic:
    name: str | None
    topic_id: UUID | None  # v10+

class MetadataRequest:
    topics: tuple[MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool  # v4+
    include_cluster_authorized_operations: bool  # v8 to v10
    include_topic_authorized_operations: bool  # v8+

class MetadataRequestTopicValues(TypedDict, total=False):
    name: str | None
    topic_id: UUID | None  # v10+

class MetadataRequestValues(TypedDict, total=False):
    topics: Sequence[MetadataRequestTopicValues] | None
    allow_auto_topic_creation: bool  # v4+
    include_cluster_authorized_operations: bool  # v8 to v10
    include_topic_authorized_operations: bool  # v8+
