"""The requests of the table: every API that asks for a right, in the forms in which it asks for different ones.

Requests change nothing: they are only validated, name what is not there, or do what was done before. The topics `t`,
`tab` and `u`, the group `g` and the transactional id `x` exist; `absent` and the like do not.
"""

from __future__ import annotations

from tests.acls.asked import (
    GROUP,
    IN_GROUP,
    IN_TRANSACTION,
    OF_TOPIC_T,
    OFFSET,
    TRANSACTIONAL_BATCH,
    TRANSACTIONAL_ID,
    UNKNOWN_ID,
    Asked,
    fetch,
    named,
    new_topic,
    produce,
    resource,
)
from tests.acls.requests_by_id import BY_ID
from tests.acls.requests_of_several import OF_SEVERAL
from tests.support.acl_client import creation, matching, rule

_OF_TOPICS = [{"name": name, "partitions": [0]} for name in ("t", "u")]
_QUOTA = {
    "entity": [{"entity_type": "client-id", "entity_name": "c"}],
    "ops": [{"key": "producer_byte_rate", "value": 1e9, "remove": False}],
}

REQUESTS: tuple[Asked, ...] = (
    Asked("produce t", "produce", 9, produce("t")),
    Asked("produce u", "produce", 9, produce("u")),
    Asked("produce absent", "produce", 9, produce("absent")),
    Asked("produce in a transaction", "produce", 9, produce("t", TRANSACTIONAL_ID, TRANSACTIONAL_BATCH)),
    Asked("fetch t", "fetch", 12, fetch({"topic": "t"})),
    Asked("fetch absent", "fetch", 12, fetch({"topic": "absent"})),
    Asked("fetch t by id", "fetch", 13, fetch({"topic_id": OF_TOPIC_T})),
    Asked("list offsets of t, absent", "list_offsets", 7, {
        "replica_id": -1,
        "topics": [
            {"name": name, "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]}
            for name in ("t", "absent")
        ],
    }),
    Asked("offset for leader epoch of t", "offset_for_leader_epoch", 4, {
        "replica_id": -1,
        "topics": [{"topic": "t", "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}],
    }),
    Asked("metadata of t, u, absent", "metadata", 12, named("t", "u", "absent")),
    Asked("metadata of t by id", "metadata", 12, {
        **named(), "topics": [{"name": None, "topic_id": OF_TOPIC_T}, {"name": None, "topic_id": UNKNOWN_ID}],
    }),
    Asked("metadata of a name that cannot be", "metadata", 12, named("no/name", allow_auto_topic_creation=True)),
    Asked("metadata of all", "metadata", 12, {**named(), "topics": None}),
    Asked("metadata with the cluster", "metadata", 9, {
        **named("tab"), "include_cluster_authorized_operations": True,
    }),
    Asked("describe the cluster", "describe_cluster", 1, {
        "include_cluster_authorized_operations": True, "endpoint_type": 1,
    }),
    Asked("describe partitions of t, absent", "describe_topic_partitions", 0, {
        "topics": [{"name": "t"}, {"name": "absent"}], "response_partition_limit": 2000, "cursor": None,
    }),
    Asked("describe partitions of all", "describe_topic_partitions", 0, {
        "topics": [], "response_partition_limit": 2000, "cursor": None,
    }),
    Asked("create absent", "create_topics", 7, new_topic("absent")),
    Asked("create t", "create_topics", 7, new_topic("t")),
    Asked("delete absent", "delete_topics", 6, {"topics": [{"name": "absent", "topic_id": None}], "timeout": 10_000}),
    Asked("delete by an unknown id", "delete_topics", 6, {
        "topics": [{"name": None, "topic_id": UNKNOWN_ID}], "timeout": 10_000,
    }),
    Asked("add partitions to t, absent", "create_partitions", 3, {
        "topics": [{"name": name, "count": 2, "assignments": None} for name in ("t", "absent")],
        "timeout": 10_000, "validate_only": True,
    }),
    Asked("delete records of t, absent", "delete_records", 2, {
        "topics": [
            {"name": name, "partitions": [{"partition_index": 0, "offset": 0}]} for name in ("t", "absent")
        ],
        "timeout": 10_000,
    }),
    Asked("describe configs of t", "describe_configs", 4, resource(2, "t")),
    Asked("describe configs of absent", "describe_configs", 4, resource(2, "absent")),
    Asked("describe configs of the broker", "describe_configs", 4, resource(4, "1")),
    Asked("describe configs of g", "describe_configs", 4, resource(32, GROUP)),
    Asked("change configs of t", "incremental_alter_configs", 1, resource(2, "t", "retention.ms", "1000000")),
    Asked("change configs of absent", "incremental_alter_configs", 1, resource(2, "absent", "retention.ms", "10000")),
    Asked("change configs of brokers", "incremental_alter_configs", 1, resource(4, "", "log.retention.ms", "1000000")),
    Asked("replace configs of t", "alter_configs", 2, resource(2, "t", "retention.ms", "1000000")),
    Asked("commit offsets of t, u", "offset_commit", 8, {
        **IN_GROUP, "topics": [{"name": name, "partitions": [OFFSET]} for name in ("t", "u")],
    }),
    Asked("fetch offsets of t, u", "offset_fetch", 8, {
        "groups": [{"group_id": GROUP, "topics": [{"name": n, "partition_indexes": [0]} for n in ("t", "u")]}],
    }),
    Asked("fetch offsets of all", "offset_fetch", 8, {"groups": [{"group_id": GROUP, "topics": None}]}),
    Asked("delete offsets of absent", "offset_delete", 0, {
        "group_id": GROUP, "topics": [{"name": "absent", "partitions": [{"partition_index": 0}]}],
    }),
    Asked("find the coordinator of g", "find_coordinator", 4, {"key_type": 0, "coordinator_keys": [GROUP]}),
    Asked("find the coordinator of x", "find_coordinator", 4, {"key_type": 1, "coordinator_keys": [TRANSACTIONAL_ID]}),
    Asked("join g", "join_group", 7, {
        **IN_GROUP, "session_timeout": 10_000, "rebalance_timeout": 10_000, "protocol_type": "consumer",
        "protocols": [],
    }),
    Asked("sync g", "sync_group", 5, {
        **IN_GROUP, "protocol_type": "consumer", "protocol_name": "range", "assignments": [],
    }),
    Asked("heartbeat in g", "heartbeat", 4, IN_GROUP),
    Asked("leave g", "leave_group", 5, {**IN_GROUP, "members": [{"member_id": "m", "group_instance_id": None}]}),
    Asked("describe g", "describe_groups", 5, {"groups": [GROUP], "include_authorized_operations": True}),
    Asked("list groups", "list_groups", 4, {"states_filter": []}),
    Asked("delete absent group", "delete_groups", 2, {"groups_names": ["absent"]}),
    Asked("become idempotent", "init_producer_id", 4, {
        "transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1,
    }),
    Asked("become transactional", "init_producer_id", 4, {
        "transactional_id": TRANSACTIONAL_ID, "transaction_timeout": -1, "producer_id": -1, "producer_epoch": -1,
    }),
    Asked("add partitions to the transaction", "add_partitions_to_txn", 3, {
        "v3_and_below_transactional_id": TRANSACTIONAL_ID, "v3_and_below_producer_id": 1 << 40,
        "v3_and_below_producer_epoch": 0, "v3_and_below_topics": _OF_TOPICS,
    }),
    Asked("add partitions to a transaction, as a broker", "add_partitions_to_txn", 4, {
        "transactions": [{**IN_TRANSACTION, "verify_only": True, "topics": _OF_TOPICS}],
    }),
    Asked("add offsets to the transaction", "add_offsets_to_txn", 3, {**IN_TRANSACTION, "group_id": GROUP}),
    Asked("end the transaction", "end_txn", 3, {**IN_TRANSACTION, "committed": False}),
    Asked("commit offsets in the transaction", "txn_offset_commit", 3, {
        **IN_GROUP, **IN_TRANSACTION, "topics": [{"name": name, "partitions": [OFFSET]} for name in ("t", "u")],
    }),
    Asked("describe the transaction", "describe_transactions", 0, {"transactional_ids": [TRANSACTIONAL_ID, "absent"]}),
    Asked("list transactions", "list_transactions", 0, {"state_filters": [], "producer_id_filters": []}),
    Asked("describe producers of t", "describe_producers", 0, {"topics": [{"name": "t", "partition_indexes": [0]}]}),
    Asked("write transaction markers", "write_txn_markers", 1, {"markers": []}),
    Asked("describe quotas", "describe_client_quotas", 1, {"components": [], "strict": True}),
    Asked("change quotas", "alter_client_quotas", 1, {"entries": [_QUOTA], "validate_only": True}),
    Asked("describe rules", "describe_acls", 3, matching(name="nothing")),
    Asked("create a wrong rule", "create_acls", 3, {"creations": [creation(rule(name=""))]}),
    Asked("delete rules", "delete_acls", 3, {"filters": [matching(name="nothing")]}),
    Asked("describe users", "describe_user_scram_credentials", 0, {"users": [{"name": "nobody"}]}),
    Asked("delete a user", "alter_user_scram_credentials", 0, {
        "deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": [],
    }),
    Asked("describe log directories", "describe_log_dirs", 4, {"topics": [{"topic": "t", "partitions": [0]}]}),
    Asked("move replicas", "alter_replica_log_dirs", 2, {
        "dirs": [{"path": "/no/such", "topics": [{"name": "absent", "partitions": [0]}]}],
    }),
    Asked("describe the quorum", "describe_quorum", 0, {
        "topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}],
    }),
    Asked("list reassignments", "list_partition_reassignments", 0, {"timeout": 10_000, "topics": None}),
    Asked("reassign partitions", "alter_partition_reassignments", 0, {
        "timeout": 10_000,
        "topics": [{"name": "absent", "partitions": [{"partition_index": 0, "replicas": None}]}],
    }),
    Asked("elect leaders", "elect_leaders", 2, {
        "election_type": 0, "topic_partitions": [{"topic": "absent", "partitions": [0]}], "timeout": 10_000,
    }),
    Asked("change features", "update_features", 1, {"timeout": 10_000, "feature_updates": [], "validate_only": True}),
    Asked("list config resources", "list_config_resources", 1, {"resource_types": [2]}),
    *BY_ID,
    *OF_SEVERAL,
)  # fmt: skip
