"""Topics and partitions as Metadata and DescribeTopicPartitions answer them, written by hand.

Building the answer over 10,000 partitions out of kio's classes takes a fifth of a second, during which no other client
is served. On one node all partitions of a topic look alike but for their index, so their bytes are two constant
pieces with the index between: two milliseconds, and the caller may keep a topic's bytes for the next request.

    partition  error int16 · index int32 · leader int32 · [epoch int32 v7+] · replicas · isr · [offline v5+]
    topic      error int16 · name · [id uuid v10+] · [internal bool v1+] · partitions · [operations int32 v8+]

Arrays and strings are compact and every struct ends with tagged fields from v9 on. DescribeTopicPartitions v0 is
Metadata v12 with two more arrays, the eligible leaders of KIP-966.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import NamedTuple

from penstock.model.errors import ErrorCode
from penstock.model.ids import NO_TOPIC_ID, TopicId
from penstock.protocol.kafka.primitives import INT16, INT32, write_count, write_string

NOT_ASKED = -(1 << 31)
"""Authorized operations of a topic or cluster whose client did not ask for them."""


class BrokerAddress(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


class TopicMetadataWriter:
    """The layout of one version of Metadata, or of DescribeTopicPartitions (`eligible_leaders`)."""

    def __init__(self, version: int, *, eligible_leaders: bool = False) -> None:
        self.version = version
        self.flexible = version >= 9
        self._eligible_leaders = eligible_leaders
        self._tags = b"\0" if self.flexible else b""

    def partitions(
        self, indexes: range, *, node_id: int, leader_epochs: Sequence[int], offline: Collection[int] = ()
    ) -> bytes:
        """An array of partitions that one node leads; those in `offline` have lost their log, and their leader.

        `leader_epochs` are those of all partitions of the topic, by index. Nearly always they are one number.
        """
        count = write_count(len(indexes), self.flexible)
        if indexes and not offline and leader_epochs.count(leader_epochs[0]) == len(leader_epochs):
            before, after = self._around(ErrorCode.NONE, node_id, leader_epochs[0], node_id, gone=False)
            return b"".join((count, before, (after + before).join(map(INT32.pack, indexes)), after))
        pieces = [count]
        for index in indexes:
            epoch = leader_epochs[index]
            if index in offline:
                before, after = self._around(ErrorCode.LEADER_NOT_AVAILABLE, -1, epoch, node_id, gone=True)
            else:
                before, after = self._around(ErrorCode.NONE, node_id, epoch, node_id, gone=False)
            pieces += (before, INT32.pack(index), after)
        return b"".join(pieces)

    def _around(
        self, error: ErrorCode, leader: int, leader_epoch: int, node_id: int, *, gone: bool
    ) -> tuple[bytes, bytes]:
        """The bytes of a partition before and after its index."""
        one = self._nodes(node_id)
        after = INT32.pack(leader)
        if self.version >= 7:
            after += INT32.pack(leader_epoch)
        after += one + one
        if self._eligible_leaders:
            after += self._nodes() + self._nodes()
        if self.version >= 5:
            after += one if gone else self._nodes()
        return INT16.pack(error), after + self._tags

    def _nodes(self, *node_ids: int) -> bytes:
        return write_count(len(node_ids), self.flexible) + b"".join(INT32.pack(node_id) for node_id in node_ids)

    def topic(
        self,
        *,
        error: ErrorCode = ErrorCode.NONE,
        name: str | None,
        topic_id: TopicId | None = None,
        internal: bool = False,
        partitions: bytes | None = None,
        operations: int = NOT_ASKED,
    ) -> bytes:
        pieces = [INT16.pack(error)]
        pieces.append(write_string(name if self.version >= 12 else name or "", self.flexible))
        if self.version >= 10:
            pieces.append((topic_id or NO_TOPIC_ID).bytes)
        if self.version >= 1:
            pieces.append(b"\1" if internal else b"\0")
        pieces.append(write_count(0, self.flexible) if partitions is None else partitions)
        if self.version >= 8:
            pieces.append(INT32.pack(operations))
        pieces.append(self._tags)
        return b"".join(pieces)

    def metadata(
        self,
        *,
        brokers: Sequence[BrokerAddress],
        cluster_id: str | None,
        controller_id: int,
        topics: Sequence[bytes],
        cluster_operations: int = NOT_ASKED,
        error: ErrorCode = ErrorCode.NONE,
    ) -> bytes:
        """A whole MetadataResponse around topics that are encoded already."""
        pieces = [INT32.pack(0) if self.version >= 3 else b"", write_count(len(brokers), self.flexible)]
        for broker in brokers:
            pieces += (INT32.pack(broker.node_id), write_string(broker.host, self.flexible), INT32.pack(broker.port))
            if self.version >= 1:
                pieces.append(write_string(broker.rack, self.flexible))
            pieces.append(self._tags)
        if self.version >= 2:
            pieces.append(write_string(cluster_id, self.flexible))
        if self.version >= 1:
            pieces.append(INT32.pack(controller_id))
        pieces.append(write_count(len(topics), self.flexible))
        pieces.extend(topics)
        if 8 <= self.version <= 10:
            pieces.append(INT32.pack(cluster_operations))
        if self.version >= 13:
            pieces.append(INT16.pack(error))
        pieces.append(self._tags)
        return b"".join(pieces)

    def describe_topic_partitions(self, topics: Sequence[bytes], next_cursor: tuple[str, int] | None) -> bytes:
        """A whole DescribeTopicPartitionsResponse v0."""
        pieces = [INT32.pack(0), write_count(len(topics), flexible=True), *topics]
        if next_cursor is None:
            pieces.append(b"\xff")
        else:
            topic, partition = next_cursor
            pieces += (b"\1", write_string(topic, flexible=True), INT32.pack(partition), b"\0")
        pieces.append(b"\0")
        return b"".join(pieces)


@functools.cache
def metadata_writer(version: int) -> TopicMetadataWriter:
    return TopicMetadataWriter(version)


@functools.cache
def topic_partitions_writer() -> TopicMetadataWriter:
    return TopicMetadataWriter(12, eligible_leaders=True)
