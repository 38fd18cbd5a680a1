"""Topics and partitions in the bytes that consumers of a classic group exchange through JoinGroup and SyncGroup.

This is Kafka's `ConsumerProtocol`, embedded in the classic protocol, and not the protocol of KIP-848.

The coordinator need not understand what members tell each other, and for other protocol types it cannot. It reads these
bytes only to refuse OffsetDelete for a topic in use, to let offsets of topics that are no longer read expire, and to
show assignments. Every version of the metadata begins with: version int16, topics array of string; every version of an
assignment with: version int16, array of (topic string, array of partition int32).
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.broker.coordination.record_primitives import MalformedRecord, Reader
from penstock.model.limits import GROUP_TOPIC_NAMES_READ_MAX, GROUP_TOPICS_MAX

CONSUMER = "consumer"


def subscribed_topics(protocol_type: str | None, metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The topics that any member reads, None if they cannot be known or are too many to be remembered."""
    if protocol_type != CONSUMER:
        return None
    topics: set[str] = set()
    names_read = 0
    try:
        for subscription in metadata:
            reader = Reader(subscription)
            if reader.int16() < 0:
                return None
            count = reader.count()
            names_read += count
            if names_read > GROUP_TOPIC_NAMES_READ_MAX:
                return None
            topics.update(reader.string() for _ in range(count))
            if len(topics) > GROUP_TOPICS_MAX:
                return None
    except MalformedRecord:
        return None
    return frozenset(topics)


def assigned_partitions(protocol_type: str | None, assignment: bytes) -> dict[str, list[int]] | None:
    """The partitions of a member by topic, None if they cannot be known."""
    if protocol_type != CONSUMER or not assignment:
        return None
    try:
        reader = Reader(assignment)
        if reader.int16() < 0:
            return None
        return {reader.string(): [reader.int32() for _ in range(reader.count())] for _ in range(reader.count())}
    except MalformedRecord:
        return None
