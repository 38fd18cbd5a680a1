"""A fetch with an isolation level that does not exist, refused as Kafka does it: as a whole, where it would have read.

Where there is nothing to read, because nothing was asked for or nothing of it exists, the level does not matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.broker.fetch.sessions import FetchSession
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.reply import Buffers
from penstock.protocol.kafka.apis import FETCH
from penstock.protocol.kafka.fetch import TOPIC_IDS, FetchedPartition, FetchPartition, FetchRequest, encode_response
from penstock.runtime.turns import Steps, finish

if TYPE_CHECKING:
    from penstock.broker.broker import Broker


async def refuse_isolation(
    broker: Broker,
    request: FetchRequest,
    version: int,
    session: FetchSession | None,
    wanted: Iterable[FetchPartition],
) -> Buffers | None:
    """The answer; None if there is nothing to read. A session that began with this request is not kept."""
    if not await finish(_any_exists(broker, wanted)):
        return None
    if session is not None and session.id != request.session_id:
        broker.fetch_sessions.forget(session)
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    broker.metrics.requests.failed(FETCH, code.name)
    named = request.partitions if version < TOPIC_IDS else []
    return await asyncio.to_thread(_answer, named, code, version, request.session_id)


def _answer(named: Iterable[FetchPartition], code: ErrorCode, version: int, session_id: int) -> Buffers:
    rows = [FetchedPartition(item.topic, item.partition, code, -1, -1, -1, aborted=()) for item in named]
    return encode_response(rows, version, error_code=code, session_id=session_id)


def _any_exists(broker: Broker, items: Iterable[FetchPartition]) -> Steps[bool]:
    for item in items:
        yield
        try:
            broker.partitions.find(item.topic, item.partition)
        except KafkaError:
            continue
        return True
    return False
