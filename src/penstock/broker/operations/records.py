"""Partitions as a session may use them: to read, to look at, to delete from."""

from __future__ import annotations

from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session


class RecordOperations:
    """KafkaError TOPIC_AUTHORIZATION_FAILED where the session has not the right, whether the topic exists or not."""

    def __init__(self, partitions: PartitionTable, access: Access) -> None:
        self._partitions = partitions
        self._access = access

    def partition(self, session: Session, operation: Operation, topic: str, index: int) -> Partition:
        """The partition, for an operation on its topic; UNKNOWN_TOPIC_OR_PARTITION if there is none."""
        self._access.check_topic(session, operation, topic)
        return self._partitions.get(topic, index)
