"""Requests that name topics by id: an id that is not there beside one that may not be described."""

from __future__ import annotations

from typing import Any

from tests.acls.asked import (
    BATCH,
    GROUP,
    IN_GROUP,
    OF_TOPIC_T,
    OFFSET,
    TRANSACTIONAL_BATCH,
    TRANSACTIONAL_ID,
    UNKNOWN_ID,
    Asked,
    fetch,
)

Id = object


def _produce(*ids: Id, transactional_id: str | None = None, records: bytes = BATCH) -> dict[str, Any]:
    data = [{"topic_id": each, "partition_data": [{"index": 0, "records": records}]} for each in ids]
    return {"transactional_id": transactional_id, "acks": -1, "timeout": 10_000, "topic_data": data}


def _commit(*ids: Id) -> dict[str, Any]:
    return {**IN_GROUP, "topics": [{"topic_id": each, "partitions": [OFFSET]} for each in ids]}


def _committed(*ids: Id) -> dict[str, Any]:
    topics = [{"topic_id": each, "partition_indexes": [0]} for each in ids]
    return {"groups": [{"group_id": GROUP, "topics": topics}]}


BY_ID: tuple[Asked, ...] = (
    Asked("produce t by id", "produce", 13, _produce(OF_TOPIC_T)),
    Asked("produce t, unknown by id", "produce", 13, _produce(OF_TOPIC_T, UNKNOWN_ID)),
    Asked("produce in a transaction by id", "produce", 13, _produce(
        OF_TOPIC_T, transactional_id=TRANSACTIONAL_ID, records=TRANSACTIONAL_BATCH,
    )),
    Asked("fetch unknown by id", "fetch", 13, fetch({"topic_id": UNKNOWN_ID})),
    Asked("fetch t, unknown by id", "fetch", 18, fetch({"topic_id": OF_TOPIC_T}, {"topic_id": UNKNOWN_ID})),
    Asked("fetch unknown, t by id", "fetch", 18, fetch({"topic_id": UNKNOWN_ID}, {"topic_id": OF_TOPIC_T})),
    Asked("commit offsets of t, unknown by id", "offset_commit", 10, _commit(OF_TOPIC_T, UNKNOWN_ID)),
    Asked("commit offsets of unknown, t by id", "offset_commit", 10, _commit(UNKNOWN_ID, OF_TOPIC_T)),
    Asked("fetch offsets of t, unknown by id", "offset_fetch", 10, _committed(OF_TOPIC_T, UNKNOWN_ID)),
    Asked("fetch offsets of unknown, t by id", "offset_fetch", 10, _committed(UNKNOWN_ID, OF_TOPIC_T)),
    Asked("fetch offsets of all by id", "offset_fetch", 10, {"groups": [{"group_id": GROUP, "topics": None}]}),
)  # fmt: skip
