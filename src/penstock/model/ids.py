"""Names for the numbers that travel through the system, so that one is never passed for another."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

TopicId = uuid.UUID

NO_TOPIC_ID = uuid.UUID(int=0)
NO_EPOCH = -1
NO_TIMESTAMP = -1


@dataclass(frozen=True, slots=True)
class PartitionId:
    """A partition by the id of its topic: survives renames, never matches a topic created again under its name."""

    topic_id: TopicId
    partition: int

    def __str__(self) -> str:
        return f"{self.topic_id}-{self.partition}"
