"""Target: one request, header and body, decoded by everything that decodes requests.

Wrong is: an exception other than MalformedRequest; a request that means something else once it is written and read
again; a Produce or Fetch in which the codecs written by hand see another request than the generated ones.
"""

from __future__ import annotations

import datetime
import io
import random
import uuid
from typing import Any

import kio.index
from kio.serial import entity_reader, entity_writer

from penstock.protocol.kafka import fetch, produce
from penstock.protocol.kafka.apis import APIS, FETCH, PRODUCE, Api
from penstock.protocol.kafka.headers import body_start, read_request_header
from penstock.protocol.kafka.messages import decode_request
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.protocol.kafka.unknown_tags import without_unknown_tags
from tests.fuzz.finding import Finding, watched
from tests.fuzz.mutation import Change, change_somehow
from tests.fuzz.samples import BATCHES, every_request, request

MILLISECOND = datetime.timedelta(milliseconds=1)


def run(data: bytes) -> None:
    with watched():
        try:
            header = read_request_header(memoryview(data))
            api = APIS.get(header.api_key)
            if api is None or not api.accepts(header.version):
                return
            start = body_start(memoryview(data), header, api)
        except MalformedRequest:
            return
        entity = _decoded(api, header.version, data, start)
        if api.key == PRODUCE:
            _check_produce(entity, header.version, data, start)
        elif api.key == FETCH:
            _check_fetch(entity, header.version, data, start)


def _decoded(api: Api, version: int, data: bytes, start: int) -> Any:
    """The request as the generated codec sees it; None if it is none."""
    schema = kio.index.load_request_schema(api.key, version)
    try:
        entity = decode_request(api.key, version, data, start)
    except MalformedRequest:
        entity = None
    if (
        version >= api.flexible and api.key != FETCH
    ):  # which is read by hand, and alone has tagged fields that are known
        try:
            stripped = without_unknown_tags(schema, data, start)
        except MalformedRequest:
            if entity is not None:
                raise Finding("a request that decodes cannot be walked over") from None
        else:
            if entity is not None and _written(entity) != _written(decode_request(api.key, version, stripped, 0)):
                raise Finding("another request without its unknown tags")
    if entity is not None:
        once = _written(entity)
        again, size = entity_reader(schema)(once, 0)
        if size != len(once) or _written(again) != once:
            raise Finding(f"{entity} is written as {again}")
    return entity


def _written(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def _check_produce(entity: Any, version: int, data: bytes, start: int) -> None:
    try:
        found = produce.decode(memoryview(data), start, version)
    except MalformedRequest:
        if entity is not None:
            raise Finding(f"Produce v{version} that only the generated codec reads: {entity}") from None
        return
    if entity is None:
        return  # by hand tagged fields are not looked at, so more is let in
    wanted = [
        (_topic(topic, "name", version >= produce.TOPIC_IDS), part.index, part.records)
        for topic in entity.topic_data
        for part in topic.partition_data
    ]
    seen = [
        (part.topic, part.partition, None if part.records is None else bytes(part.records)) for part in found.partitions
    ]
    if seen != wanted or (found.transactional_id, found.acks, found.timeout_ms) != (
        entity.transactional_id,
        entity.acks,
        entity.timeout // MILLISECOND,
    ):
        raise Finding(f"Produce v{version}: {found} instead of {entity}")


def _check_fetch(entity: Any, version: int, data: bytes, start: int) -> None:
    try:
        found = fetch.decode(memoryview(data), start, version)
    except MalformedRequest as problem:
        # The generated codec reads a tagged field as long as it should be, whatever size it is said to have.
        if entity is not None and "tagged field" not in str(problem):
            raise Finding(f"Fetch v{version} that only the generated codec reads: {entity}") from None
        return
    if entity is None:
        return
    by_id = version >= fetch.TOPIC_IDS
    partitions = [
        fetch.FetchPartition(
            _topic(topic, "topic", by_id),
            part.partition,
            getattr(part, "current_leader_epoch", -1),
            part.fetch_offset,
            getattr(part, "last_fetched_epoch", -1),
            part.partition_max_bytes,
        )
        for topic in entity.topics
        for part in topic.partitions
    ]
    forgotten = [
        (_topic(topic, "topic", by_id), index)
        for topic in getattr(entity, "forgotten_topics_data", ())
        for index in topic.partitions
    ]
    wanted = found._replace(
        max_wait_ms=entity.max_wait // MILLISECOND,
        min_bytes=entity.min_bytes,
        max_bytes=entity.max_bytes,
        isolation=entity.isolation_level,
        session_id=getattr(entity, "session_id", 0),
        session_epoch=getattr(entity, "session_epoch", -1),
        partitions=partitions,
        forgotten=forgotten,
        rack=getattr(entity, "rack_id", ""),
    )
    if found != wanted:
        raise Finding(f"Fetch v{version}: {found} instead of {wanted}")


def _topic(entity: Any, name: str, by_id: bool) -> str | bytes:
    """As the codecs by hand name it; the generated ones read the id of zeros as none."""
    if by_id:
        return (entity.topic_id or uuid.UUID(int=0)).bytes
    return str(getattr(entity, name))


def seeds() -> dict[str, bytes]:
    found = {f"{name}-v{version}": payload for name, version, payload in every_request()}
    for name, records in BATCHES.items():
        data = [{"name": "t", "partition_data": [{"index": 0, "records": records}, {"index": 1, "records": None}]}]
        found[f"produce-{name}"] = request("produce", 9, topic_data=data, transactional_id="x")
    # One unknown tagged field (number 9, three bytes) at the end of a flexible body, and one in its header.
    found["unknown-tag"] = request("heartbeat", 4)[:-1] + b"\x01\x09\x03abc"
    found["header-tag"] = b"\0\x0c\0\4\0\0\0\1\0\1a\1\7\2xy" + request("heartbeat", 4)[15:]
    return found


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    kind = choose.random()
    if kind < 0.1 and len(data) >= 4:  # the same body as another version, or another API
        api = choose.choice(tuple(APIS.values()))
        key = api.key if choose.random() < 0.2 else int.from_bytes(data[:2], "big")
        version = choose.randint(api.oldest, api.newest)
        return key.to_bytes(2, "big") + version.to_bytes(2, "big") + data[4:]
    first = choose.choice((0, 8, 10, 15, 15, 15))
    return (data[:first] + change_somehow(data[first:], max_bytes, choose, change))[:max_bytes]
