"""Bodies of the requests about topics, records and offsets in logs, and the short steps made of them.

Records have fixed timestamps, so that both brokers store the same bytes: topics made here keep them forever.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.differential.peer import Answer, Peer
from tests.support.batches import Record, batch

T0 = 1_700_000_000_000
"""The time of records whose time does not matter."""

EARLIEST, LATEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = -2, -1, -3, -4, -5, -6
NO_ID = "00000000-0000-0000-0000-000000000000"
WRONG_ID = "01234567-89ab-4def-8123-456789abcdef"

Body = dict[str, Any]


def create(peer: Peer, base: str, *, partitions: int = 1, **configs: str) -> str:
    """A topic whose records never expire; configs with _ for the dots of their names."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return peer.topic(base, partitions=partitions, configs={"retention.ms": "-1", **named})


def delete(peer: Peer, name: str) -> Answer:
    """Delete a topic, and wait until nobody answers for it any more."""
    answer = peer.ask("delete_topics", 5, {"topic_names": [name], "timeout": 10_000})
    peer.until(
        lambda: list_offset(peer, name, LATEST),
        lambda found: found["topics"][0]["partitions"][0]["error_code"] == 3,
    )
    return answer


def named(topic: str, *, by_id: bool, key: str = "name") -> Body:
    return {"topic_id": topic} if by_id else {key: topic}


# --- records ---------------------------------------------------------------------------------------------------------


def values(*items: str | bytes, at: int = T0, **overrides: Any) -> bytes:
    """One batch of records without keys, all at the same time."""
    records = [Record(value=item.encode() if isinstance(item, str) else item, timestamp_ms=at) for item in items]
    return batch(records, **overrides)


def keyed(pairs: Iterable[tuple[str, str | None]], at: int = T0, **overrides: Any) -> bytes:
    """One batch of records with keys; a value of None is a tombstone."""
    records = [
        Record(key=key.encode(), value=None if value is None else value.encode(), timestamp_ms=at)
        for key, value in pairs
    ]
    return batch(records, **overrides)


# --- Produce and Fetch -----------------------------------------------------------------------------------------------


def produce_body(topic: str, batches: Mapping[int, bytes | None], *, acks: int = -1, by_id: bool = False) -> Body:
    parts = [{"index": index, "records": records} for index, records in batches.items()]
    return {
        "transactional_id": None,
        "acks": acks,
        "timeout": 10_000,
        "topic_data": [named(topic, by_id=by_id) | {"partition_data": parts}],
    }


def produce(
    peer: Peer, topic: str, records: bytes | None, *, partition: int = 0, version: int = 9, label: str = ""
) -> Answer:
    """One partition, by name up to v12 and by id from v13 on."""
    body = produce_body(topic, {partition: records}, by_id=version >= 13)
    return peer.ask("produce", version, body, label=label)


def wanted(offset: int, *, partition: int = 0, partition_max_bytes: int = 1 << 20, **more: Any) -> Body:
    """One partition of a Fetch request."""
    return {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": partition_max_bytes,
        **more,
    }


def fetch_body(
    topics: Mapping[str, Sequence[Body]],
    *,
    by_id: bool = False,
    forgotten: Mapping[str, Sequence[int]] | None = None,
    **more: Any,
) -> Body:
    """A fetch that does not wait, outside of sessions unless `more` says otherwise."""
    return {
        "replica_id": -1,
        "replica_state": {"replica_id": -1, "replica_epoch": -1},
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 24,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            named(topic, by_id=by_id, key="topic") | {"partitions": list(parts)} for topic, parts in topics.items()
        ],
        "forgotten_topics_data": [
            named(topic, by_id=by_id, key="topic") | {"partitions": list(parts)}
            for topic, parts in (forgotten or {}).items()
        ],
        "rack_id": "",
        **more,
    }


def fetch(peer: Peer, topic: str, offset: int, *, version: int = 12, label: str = "", **part: Any) -> Answer:
    """One partition, by name up to v12 and by id from v13 on."""
    body = fetch_body({topic: [wanted(offset, **part)]}, by_id=version >= 13)
    return peer.ask("fetch", version, body, label=label)


# --- offsets of a log ------------------------------------------------------------------------------------------------


def list_offset(
    peer: Peer, topic: str, *times: int, partition: int = 0, version: int = 7, isolation: int = 0, label: str = ""
) -> Answer:
    """ListOffsets of one partition; several times are asked for one after the other, the last answer is returned."""
    answer: Answer = {}
    for time in times:
        parts = [{"partition_index": partition, "current_leader_epoch": -1, "timestamp": time}]
        body = {"replica_id": -1, "isolation_level": isolation, "topics": [{"name": topic, "partitions": parts}]}
        answer = peer.ask("list_offsets", version, body | {"timeout": 5_000}, label=label or f"at {time}")
    return answer


def delete_records(peer: Peer, topic: str, before: int, *, partition: int = 0, version: int = 2) -> Answer:
    parts = [{"partition_index": partition, "offset": before}]
    body = {"topics": [{"name": topic, "partitions": parts}], "timeout": 10_000}
    return peer.ask("delete_records", version, body, label=f"before {before}")
