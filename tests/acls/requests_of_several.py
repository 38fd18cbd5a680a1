"""Requests that name several things, or one twice: in which order they are answered, and what one says of another."""

from __future__ import annotations

from typing import Any

from tests.acls.asked import (
    BATCH,
    GROUP,
    IN_GROUP,
    IN_TRANSACTION,
    OFFSET,
    TRANSACTIONAL_ID,
    Asked,
    fetch,
    named,
    new_topic,
    resource,
)

_OFFSETS_OF_TWO = [{"name": name, "partitions": [OFFSET]} for name in ("t", "absent")]
_PARTITIONS_OF_TWO = [{"name": name, "partitions": [0]} for name in ("t", "absent")]


def _configs(*names: str, key: str = "", value: str = "") -> dict[str, Any]:
    described = [described for name in names for described in resource(2, name, key, value)["resources"]]
    return {"resources": described, "validate_only": True}


OF_SEVERAL: tuple[Asked, ...] = (
    Asked("produce t, u, absent", "produce", 9, {
        "transactional_id": None, "acks": -1, "timeout": 10_000,
        "topic_data": [
            {"name": name, "partition_data": [{"index": 0, "records": BATCH}]} for name in ("t", "u", "absent")
        ],
    }),
    Asked("fetch absent, u, t", "fetch", 12, fetch({"topic": "absent"}, {"topic": "u"}, {"topic": "t"})),
    Asked("list offsets of absent with an epoch", "list_offsets", 7, {
        "replica_id": -1,
        "topics": [
            {"name": "absent", "partitions": [{"partition_index": 0, "current_leader_epoch": 5, "timestamp": -1}]}
        ],
    }),
    Asked("offset for leader epoch of u, absent, t", "offset_for_leader_epoch", 4, {
        "replica_id": -1,
        "topics": [
            {"topic": name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}
            for name in ("u", "absent", "t")
        ],
    }),
    Asked("metadata of t, tab", "metadata", 12, named("t", "tab")),
    Asked("metadata of t twice", "metadata", 12, named("t", "t")),
    Asked("describe partitions of u, tab, t", "describe_topic_partitions", 0, {
        "topics": [{"name": name} for name in ("u", "tab", "t")], "response_partition_limit": 2000, "cursor": None,
    }),
    Asked("create absent twice", "create_topics", 7, {
        **new_topic("absent"), "topics": new_topic("absent")["topics"] * 2,
    }),
    Asked("create a name that cannot be", "create_topics", 7, new_topic("no/name")),
    Asked("delete absent twice", "delete_topics", 6, {
        "topics": [{"name": "absent", "topic_id": None}] * 2, "timeout": 10_000,
    }),
    Asked("describe configs of u, absent, t", "describe_configs", 4, _configs("u", "absent", "t")),
    Asked("describe configs of t twice", "describe_configs", 4, _configs("t", "t")),
    Asked("describe configs of metrics", "describe_configs", 4, resource(16, "m")),
    Asked("change configs of u, absent, t", "incremental_alter_configs", 1, _configs(
        "u", "absent", "t", key="retention.ms", value="1000000",
    )),
    Asked("replace configs of u, absent, t", "alter_configs", 2, _configs(
        "u", "absent", "t", key="retention.ms", value="1000000",
    )),
    Asked("change configs of g", "incremental_alter_configs", 1, resource(
        32, GROUP, "consumer.session.timeout.ms", "50000",
    )),
    Asked("change configs of metrics", "incremental_alter_configs", 1, resource(16, "m", "interval.ms", "1000")),
    Asked("list config resources of the oldest version", "list_config_resources", 0, {}),
    Asked("list config resources of all types", "list_config_resources", 1, {"resource_types": []}),
    Asked("commit offsets of t, absent without an epoch", "offset_commit", 2, {**IN_GROUP, "topics": _OFFSETS_OF_TWO}),
    Asked("fetch offsets of u, absent, t", "offset_fetch", 8, {
        "groups": [
            {"group_id": GROUP, "topics": [{"name": n, "partition_indexes": [0]} for n in ("u", "absent", "t")]}
        ],
    }),
    Asked("fetch offsets of two groups", "offset_fetch", 8, {
        "groups": [{"group_id": each, "topics": None} for each in ("other", GROUP)],
    }),
    Asked("delete offsets of tab, absent", "offset_delete", 0, {
        "group_id": GROUP,
        "topics": [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("tab", "absent")],
    }),
    Asked("find the coordinators of two groups", "find_coordinator", 4, {
        "key_type": 0, "coordinator_keys": ["other", GROUP],
    }),
    Asked("describe two groups", "describe_groups", 5, {
        "groups": ["other", GROUP], "include_authorized_operations": True,
    }),
    Asked("describe g twice", "describe_groups", 5, {"groups": [GROUP, GROUP], "include_authorized_operations": True}),
    Asked("describe two transactions", "describe_transactions", 0, {
        "transactional_ids": ["absent", TRANSACTIONAL_ID],
    }),
    Asked("describe producers of u, absent, t", "describe_producers", 0, {
        "topics": [{"name": name, "partition_indexes": [0]} for name in ("u", "absent", "t")],
    }),
    Asked("commit offsets of t, absent in the transaction", "txn_offset_commit", 3, {
        **IN_GROUP, **IN_TRANSACTION, "topics": _OFFSETS_OF_TWO,
    }),
    Asked("add partitions of t, absent to the transaction", "add_partitions_to_txn", 3, {
        "v3_and_below_transactional_id": TRANSACTIONAL_ID, "v3_and_below_producer_id": 1 << 40,
        "v3_and_below_producer_epoch": 0, "v3_and_below_topics": _PARTITIONS_OF_TWO,
    }),
    Asked("describe all log directories", "describe_log_dirs", 4, {"topics": None}),
)  # fmt: skip
