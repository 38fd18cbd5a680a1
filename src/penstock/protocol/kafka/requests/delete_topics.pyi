"""DeleteTopics, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict
from uuid import UUID

class DeleteTopicsRequest:
    topic_names: tuple[str, ...]  # v1 to v5
    timeout: timedelta
    topics: tuple[DeleteTopicState, ...]  # v6+

class DeleteTopicState:
    name: str | None
    topic_id: UUID | None

class DeleteTopicsRequestValues(TypedDict, total=False):
    topic_names: Sequence[str]  # v1 to v5
    timeout: timedelta | int
    topics: Sequence[DeleteTopicStateValues]  # v6+

class DeleteTopicStateValues(TypedDict, total=False):
    name: str | None
    topic_id: UUID | None
