"""What requests of the table are made of: the names that they use, and the forms of the larger ones."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from tests.support.batches import Record, batch

TOPICS = ("t", "tab", "u")
GROUP, TRANSACTIONAL_ID = "g", "x"
BATCH = batch([Record(value=b"v")])
TRANSACTIONAL_BATCH = batch(
    [Record(value=b"v")], producer_id=1 << 40, producer_epoch=0, attributes=0x10, base_sequence=0
)
OF_TOPIC_T = "<id of t>"
"""Stands for the topic's id, which each cluster has chosen for itself."""
UNKNOWN_ID = uuid.UUID(int=7)


class Asked(NamedTuple):
    """A request, by a name that is unique in the table."""

    name: str
    api: str
    version: int
    values: dict[str, Any]


def fetch(*topics: dict[str, Any]) -> dict[str, Any]:
    """A topic is given by its name or its id."""
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1}
    partitions = [{**wanted, "last_fetched_epoch": -1, "log_start_offset": -1}]
    named = [{**topic, "partitions": partitions} for topic in topics]
    return {
        "replica_id": -1, "max_wait": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1, "topics": named,
    }  # fmt: skip


def produce(topic: str, transactional_id: str | None = None, records: bytes = BATCH) -> dict[str, Any]:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    return {"transactional_id": transactional_id, "acks": -1, "timeout": 10_000, "topic_data": data}


def named(*names: str, **more: Any) -> dict[str, Any]:
    topics = [{"name": name, "topic_id": None} for name in names]
    return {"topics": topics, "allow_auto_topic_creation": False, "include_topic_authorized_operations": True, **more}


def new_topic(name: str) -> dict[str, Any]:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    return {"topics": [topic], "timeout": 10_000, "validate_only": True}


def resource(kind: int, name: str, key: str = "", value: str = "") -> dict[str, Any]:
    configs = [{"name": key, "value": value, "config_operation": 0}] if key else []
    described = {"resource_type": kind, "resource_name": name, "configuration_keys": None, "configs": configs}
    return {"resources": [described], "validate_only": True}


IN_GROUP: dict[str, Any] = {
    "group_id": GROUP,
    "member_id": "",
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
}
OFFSET = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
IN_TRANSACTION = {"transactional_id": TRANSACTIONAL_ID, "producer_id": 1 << 40, "producer_epoch": 0}
