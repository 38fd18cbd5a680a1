"""DescribeLogDirs (key 35, v1–5): where partitions are stored and how much space they take.

Behaviour:
- There is one log directory, the data directory. Null topics mean all; partitions that do not exist are left out.
- Sizes are those of the segments, so every partition asked for is opened, in turns with other requests.

Differs from Kafka:
- The offset lag is what is written but not yet flushed, the local form of "not yet below the high watermark".

Version notes:
- v3 adds the error code of the whole answer, v4 the size of the volume, v5 cordoned directories, of which there are
  none.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from struct import Struct
from typing import TYPE_CHECKING

from penstock.broker.answers.array_answer import array_answer
from penstock.broker.request import Request
from penstock.config.settings import MEMORY
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.primitives import INT16, INT64, write_count, write_string
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_log_dirs import DescribeLogDirsBuilders
    from penstock.protocol.kafka.requests.describe_log_dirs import DescribeLogDirsRequest

    DescribeLogDirs = Request[DescribeLogDirsRequest, DescribeLogDirsBuilders]

_PARTITION = Struct(">iqq?")  # index, size, lag, whether it is a future replica
UNKNOWN_BYTES = -1


async def handle(broker: Broker, request: DescribeLogDirs) -> bytes:
    flexible = request.is_flexible
    if not broker.access.allows_cluster(request.session, Operation.DESCRIBE):
        code = INT16.pack(ErrorCode.CLUSTER_AUTHORIZATION_FAILED) if request.version >= 3 else b""
        return array_answer(request, [], before=code)
    topics = [topic async for topic in _topics(broker, request, flexible)]
    total, usable = await _volume(broker)
    pieces = [INT16.pack(ErrorCode.NONE), write_string(str(broker.settings.node.data_dir.absolute()), flexible)]
    pieces += [write_count(len(topics), flexible), *topics]
    if request.version >= 4:
        pieces += [INT64.pack(total), INT64.pack(usable)]
    if request.version >= 5:
        pieces.append(b"\0")
    pieces.append(_tags(flexible))
    before = INT16.pack(ErrorCode.NONE) if request.version >= 3 else b""
    return array_answer(request, [b"".join(pieces)], before=before)


async def _volume(broker: Broker) -> tuple[int, int]:
    """Size of the volume and what is free of it."""
    if broker.settings.storage.engine == MEMORY:
        return UNKNOWN_BYTES, UNKNOWN_BYTES
    try:
        usage = await asyncio.to_thread(shutil.disk_usage, broker.settings.node.data_dir)
    except OSError:
        return UNKNOWN_BYTES, UNKNOWN_BYTES
    return usage.total, usage.free


async def _topics(broker: Broker, request: DescribeLogDirs, flexible: bool) -> AsyncIterator[bytes]:
    """Encoded topics that have at least one of the partitions asked for."""
    turns = Turns()
    for name, indexes in _wanted(broker, request):
        partitions = []
        await turns.pause()
        for index in indexes:
            await turns.pause()
            sizes = _sizes(broker, name, index)
            if sizes is not None:
                partitions.append(_PARTITION.pack(index, *sizes, False) + _tags(flexible))
        if partitions:
            count = write_count(len(partitions), flexible)
            yield b"".join([write_string(name, flexible), count, *partitions, _tags(flexible)])


def _wanted(broker: Broker, request: DescribeLogDirs) -> Iterator[tuple[str, range | tuple[int, ...]]]:
    if request.body.topics is None:
        for topic in tuple(broker.topics.all()):
            yield topic.name, range(topic.partition_count)
    else:
        wanted: dict[str, dict[int, None]] = {}
        for asked in request.body.topics:
            wanted.setdefault(asked.topic, {}).update(dict.fromkeys(asked.partitions))
        for name, indexes in wanted.items():
            yield name, tuple(indexes)


def _sizes(broker: Broker, name: str, index: int) -> tuple[int, int] | None:
    """Bytes and lag of a partition; None if there is no such partition."""
    try:
        partition = broker.partitions.get(name, index)
    except KafkaError as error:
        return (0, 0) if error.code is ErrorCode.KAFKA_STORAGE_ERROR else None
    return partition.size_bytes, partition.log_end - partition.high_watermark


def _tags(flexible: bool) -> bytes:
    return b"\0" if flexible else b""
