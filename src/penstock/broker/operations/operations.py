"""The use cases of a node side by side, for its doors. Built with the broker."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.broker.operations.config_changes import ConfigChanges
from penstock.broker.operations.config_descriptions import ConfigDescriptions
from penstock.broker.operations.groups import GroupOperations
from penstock.broker.operations.offsets import OffsetOperations
from penstock.broker.operations.records import RecordOperations
from penstock.broker.operations.topic_writer import TopicWriters
from penstock.broker.operations.topics import TopicOperations


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    topics: TopicOperations
    config_changes: ConfigChanges
    config_descriptions: ConfigDescriptions
    groups: GroupOperations
    offsets: OffsetOperations
    records: RecordOperations
    topic_writers: TopicWriters
