"""DeleteTopics, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from uuid import UUID

class DeleteTopicsRequest:
    topic_names: tuple[str, ...]  # v1 to v5
    timeout: timedelta
    topics: tuple[DeleteTopicState, ...]  # v6+

class DeleteTopicState:
    name: str | None
    topic_id: UUID | None
