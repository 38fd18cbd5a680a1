"""Requests that make sense in a fuzz world: what the seeds of the targets are made of.

One set of values for each API, for all its versions: `wire` leaves out what a version does not know.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Final

from penstock.protocol.kafka.apis import APIS
from tests.fuzz.world import TOPICS, without_chance
from tests.support.batches import Record, batch
from tests.support.wire import API_KEYS, encode_request

API_NAMES: Final = {key: name for name, key in API_KEYS.items()}
TIME: Final = 1_700_000_000_000

KEYED: Final = [Record(key=b"k%d" % n, value=b"v" * n, headers=(("h", b"x"), ("n", None)), timestamp_ms=TIME + n)
                for n in range(3)]  # fmt: skip
BATCHES: Final = {
    **{f"codec{codec}": batch(KEYED, codec=codec) for codec in range(5)},
    "tombstone": batch([Record(key=b"k", value=None, timestamp_ms=TIME)]),
    "keyless": batch([Record(timestamp_ms=TIME)]),
    "idempotent": batch(KEYED, producer_id=7, producer_epoch=0, base_sequence=0),
    "transactional": batch(KEYED, producer_id=7, producer_epoch=0, base_sequence=0, attributes=0x10),
    "control": batch(KEYED, attributes=0x20),
    "deltas": batch(KEYED, count=2, last_offset_delta=1),
}

_TOPIC: Final = {"name": "t", "topic": "t", "topic_id": TOPICS["t"][0]}
_TOPICS: Final = [{"name": name, "topic": name, "topic_id": TOPICS[name][0]} for name in TOPICS]
_PARTITION: Final = {
    "partition_index": 0, "partition": 0, "index": 0, "timestamp": TIME, "offset": 1, "leader_epoch": 0,
    "current_leader_epoch": -1, "committed_offset": 3, "committed_metadata": "note", "committed_leader_epoch": 0,
    "fetch_offset": 0, "partition_max_bytes": 1 << 20, "last_fetched_epoch": -1, "log_start_offset": -1,
    "replicas": [1],
}  # fmt: skip
_PARTITIONS: Final = [{**_TOPIC, "partitions": [_PARTITION]}]
_GROUP: Final = {"group_id": "g", "member_id": "", "generation_id": -1, "generation_id_or_member_epoch": -1}
_RESOURCES: Final = [
    {
        "resource_type": kind,
        "resource_name": name,
        "configuration_keys": keys,
        "configs": [{"name": key, "value": "1000000", "config_operation": 0}],
    }
    for kind, name, keys, key in ((2, "t", None, "retention.ms"), (4, "1", ["retention.ms"], "log.retention.ms"))
]

VALUES: Final[dict[str, dict[str, Any]]] = {
    "produce": {
        "acks": -1,
        "timeout": 1000,
        "topic_data": [
            {**topic, "partition_data": [{"index": 0, "records": BATCHES["codec0"]}]} for topic in _TOPICS
        ],
    },
    "fetch": {
        "max_wait": 500, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1, "replica_id": -1,
        "topics": _PARTITIONS, "forgotten_topics_data": [{**_TOPIC, "partitions": [1]}], "rack_id": "r",
    },
    "list_offsets": {"replica_id": -1, "topics": _PARTITIONS, "timeout": 1000},
    "metadata": {
        "topics": [{"name": "t", "topic_id": None}, {"name": "fresh", "topic_id": None}],
        "allow_auto_topic_creation": True,
    },
    "offset_commit": {**_GROUP, "retention_time": -1, "topics": _PARTITIONS},
    "offset_fetch": {
        **_GROUP,
        "topics": [{**_TOPIC, "partition_indexes": [0, 1]}],
        "groups": [{"group_id": "g", "member_epoch": -1, "topics": [{**_TOPIC, "partition_indexes": [0]}]}],
    },
    "find_coordinator": {"key": "g", "key_type": 0, "coordinator_keys": ["g"]},
    "join_group": {
        **_GROUP, "session_timeout": 10_000, "rebalance_timeout": 10_000, "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"\0\1\0\0\0\1\0\1t\0\0\0\0"}],
    },
    "heartbeat": _GROUP,
    "leave_group": {**_GROUP, "members": [{"member_id": "m", "group_instance_id": "i"}]},
    "sync_group": {
        **_GROUP, "protocol_type": "consumer", "protocol_name": "range",
        "assignments": [{"member_id": "m", "assignment": b"\0\0"}],
    },
    "describe_groups": {"groups": ["g"], "include_authorized_operations": True},
    "list_groups": {"states_filter": ["Stable"], "types_filter": ["classic"]},
    "api_versions": {"client_software_name": "fuzz", "client_software_version": "1"},
    "create_topics": {
        "topics": [
            {"name": "new", "num_partitions": 2, "replication_factor": 1,
             "configs": [{"name": "retention.ms", "value": "1000"}]},
            {"name": "placed", "num_partitions": -1, "replication_factor": -1,
             "assignments": [{"partition_index": 0, "broker_ids": [1]}]},
        ],
        "timeout": 1000,
    },
    "delete_topics": {"topic_names": ["t"], "topics": [{"name": "t", "topic_id": None}], "timeout": 1000},
    "delete_records": {"topics": _PARTITIONS, "timeout": 1000},
    "init_producer_id": {"transaction_timeout": 1000, "producer_id": -1, "producer_epoch": -1},
    "offset_for_leader_epoch": {"replica_id": -1, "topics": _PARTITIONS},
    "describe_configs": {"resources": _RESOURCES, "include_synonyms": True, "include_documentation": True},
    "alter_configs": {"resources": _RESOURCES},
    "describe_log_dirs": {"topics": [{**_TOPIC, "partitions": [0]}]},
    "create_partitions": {"topics": [{"name": "t", "count": 3}], "timeout": 1000},
    "delete_groups": {"groups_names": ["g"]},
    "elect_leaders": {"topic_partitions": [{**_TOPIC, "partitions": [0]}], "timeout": 1000},
    "incremental_alter_configs": {"resources": _RESOURCES},
    "alter_partition_reassignments": {"topics": _PARTITIONS, "timeout": 1000},
    "list_partition_reassignments": {"topics": [{**_TOPIC, "partition_indexes": [0]}], "timeout": 1000},
    "offset_delete": {"group_id": "g", "topics": _PARTITIONS},
    "update_features": {"feature_updates": [{"feature": "group.version", "max_version_level": 1, "upgrade_type": 1}]},
    "describe_cluster": {"include_cluster_authorized_operations": True, "endpoint_type": 1},
    "describe_producers": {"topics": [{**_TOPIC, "partition_indexes": [0]}]},
    "alter_replica_log_dirs": {"dirs": [{"path": "/data", "topics": [{**_TOPIC, "partitions": [0]}]}]},
    "describe_acls": {
        "resource_type_filter": 2, "resource_name_filter": "t", "pattern_type_filter": 2, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1,
    },
    "create_acls": {
        "creations": [
            {"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:fuzz",
             "host": "*", "operation": 3, "permission_type": 3},
            {"resource_type": 3, "resource_name": "g", "resource_pattern_type": 4, "principal": "User:*",
             "host": "192.0.2.1", "operation": 2, "permission_type": 2},
        ],
    },
    "delete_acls": {
        "filters": [
            {"resource_type_filter": 2, "resource_name_filter": "t", "pattern_type_filter": 3,
             "principal_filter": "User:fuzz", "host_filter": "*", "operation": 3, "permission_type": 3},
        ],
    },
    "describe_client_quotas": {"components": [{"entity_type": "user", "match_type": 2}], "strict": False},
    "alter_client_quotas": {
        "entries": [
            {"entity": [{"entity_type": "client-id", "entity_name": "fuzz"}],
             "ops": [{"key": "producer_byte_rate", "value": 200.0}, {"key": "request_percentage", "value": 0.01}]},
            {"entity": [{"entity_type": "user", "entity_name": None}],
             "ops": [{"key": "consumer_byte_rate", "value": 200.0}]},
        ],
    },
    "sasl_handshake": {"mechanism": "SCRAM-SHA-256"},
    "sasl_authenticate": {"auth_bytes": b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL"},
    "describe_user_scram_credentials": {"users": [{"name": "alice"}, {"name": "bob"}]},
    "alter_user_scram_credentials": {
        "deletions": [{"name": "bob", "mechanism": 1}],
        "upsertions": [
            {"name": "alice", "mechanism": 2, "iterations": 4096, "salt": b"s" * 16, "salted_password": b"p" * 64},
        ],
    },
    "describe_quorum": {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
    "push_telemetry": {"client_instance_id": uuid.UUID(int=9), "subscription_id": 1, "metrics": b"\n\4\n\2\n\0"},
    "describe_topic_partitions": {"topics": [{"name": "t"}], "response_partition_limit": 10},
}  # fmt: skip


def request(api: str, version: int, correlation_id: int = 1, **changes: Any) -> bytes:
    """Header and body of a request that makes sense, or of one that differs from it."""
    return encode_request(api, version, correlation_id, {**VALUES.get(api, {}), **changes}, client_id="fuzz")


def every_request() -> Iterator[tuple[str, int, bytes]]:
    """One of every API and version that is answered."""
    for api in APIS.values():
        name = API_NAMES[api.key]
        for version in range(api.oldest, api.newest + 1):
            yield name, version, request(name, version)


def conversations() -> dict[str, list[bytes]]:
    """Requests that build on each other. Ids are those that a world without chance gives out."""
    with without_chance():
        _, first, second, *_ = [uuid.uuid4() for _ in range(8)]
    member = {"member_id": f"fuzz-{second}", "generation_id": 1, "generation_id_or_member_epoch": 1}
    assignments = [{"member_id": member["member_id"], "assignment": b"\0\0"}]
    session = {"session_id": 1, "max_wait": 100}
    old_member = [
        request("join_group", 3, 1),
        request("sync_group", 3, 2, **member, assignments=assignments),
        request("heartbeat", 3, 3, **member),
        request("offset_commit", 7, 4, **member),
        request("offset_fetch", 7, 5),
        request("describe_groups", 5, 6),
        request("leave_group", 2, 7, **member),
        request("delete_groups", 2, 8),
    ]
    new_member = [request("join_group", 9, 1), request("join_group", 9, 2, **member), *old_member[1:]]
    static = [request("join_group", 7, n, group_instance_id=f"i{n}", rebalance_timeout=100 * n) for n in range(1, 4)]
    made = [
        request("create_topics", 7, 1),
        request("produce", 13, 2, topic_data=[
            {"topic_id": first, "partition_data": [{"index": 1, "records": BATCHES["codec4"]}]}]),
        request("fetch", 17, 3, topics=[{"topic_id": first, "partitions": [{**_PARTITION, "partition": 1}]}]),
        request("delete_topics", 6, 4, topics=[{"name": None, "topic_id": first}]),
        request("fetch", 17, 5),
    ]  # fmt: skip
    return {
        "old-member": old_member,
        "new-member": new_member,
        "static-members": static,
        "topic": made,
        "session": [
            request("fetch", 12, 1, session_epoch=0),
            *[request("fetch", 12, n, **session, session_epoch=n - 1) for n in (2, 3)],
            request("produce", 9, 4),
            request("fetch", 12, 5, **session, session_epoch=3, topics=[]),
        ],
        "waiting": [
            request("fetch", 11, 1, topics=[{"topic": "t", "partitions": [{**_PARTITION, "fetch_offset": 5}]}]),
            request("produce", 8, 2),
            request("metadata", 1, 3),
        ],
        "idempotent": [
            request("init_producer_id", 4, 1),
            *[request("produce", 9, n, topic_data=[
                {"name": "t", "partition_data": [{"index": 1, "records": BATCHES["idempotent"]}]}]) for n in (2, 3)],
            request("describe_producers", 0, 4),
            request("list_offsets", 8, 5),
        ],
        "quotas": [
            request("alter_client_quotas", 1, 1),
            *[request("produce", 9, number) for number in (2, 3)],
            *[request("metadata", 9, number) for number in (4, 5)],
            request("fetch", 12, 6),
            request("fetch", 12, 7),
            request("describe_client_quotas", 1, 8),
        ],
        "telemetry": [
            request("incremental_alter_configs", 1, 1, resources=[
                {"resource_type": 16, "resource_name": "s",
                 "configs": [{"name": "metrics", "value": "*", "config_operation": 0}]}]),
            request("get_telemetry_subscriptions", 0, 2),
            request("get_telemetry_subscriptions", 0, 3, client_instance_id=uuid.UUID(int=9)),
            request("push_telemetry", 0, 4, subscription_id=1_012_207_402),
            request("push_telemetry", 0, 5, subscription_id=1_012_207_402, terminating=True),
        ],
        "configs": [
            request("incremental_alter_configs", 1, 1),
            request("describe_configs", 4, 2),
            request("create_partitions", 3, 3),
            request("delete_records", 2, 4),
            request("describe_log_dirs", 4, 5),
        ],
    }  # fmt: skip
