"""The rights that each request needs, door by door: the table that the tests of the gate hold the code to."""

from __future__ import annotations

from typing import Final

from penstock.security.resources import Operation, ResourceType
from tests.gate.recorder import Asked

_O, _R = Operation, ResourceType
NOTHING: Final[set[Asked]] = set()

READ_TOPIC, WRITE_TOPIC = (_O.READ, _R.TOPIC), (_O.WRITE, _R.TOPIC)
DESCRIBE_TOPIC, ALTER_TOPIC, DELETE_TOPIC = (_O.DESCRIBE, _R.TOPIC), (_O.ALTER, _R.TOPIC), (_O.DELETE, _R.TOPIC)
TOPIC_CONFIGS, ALTER_TOPIC_CONFIGS = (_O.DESCRIBE_CONFIGS, _R.TOPIC), (_O.ALTER_CONFIGS, _R.TOPIC)
READ_GROUP, DESCRIBE_GROUP, DELETE_GROUP = (_O.READ, _R.GROUP), (_O.DESCRIBE, _R.GROUP), (_O.DELETE, _R.GROUP)
WRITE_ID, DESCRIBE_ID = (_O.WRITE, _R.TRANSACTIONAL_ID), (_O.DESCRIBE, _R.TRANSACTIONAL_ID)
CREATE, DELETE = (_O.CREATE, _R.CLUSTER), (_O.DELETE, _R.CLUSTER)
DESCRIBE, ALTER, CLUSTER_ACTION = (_O.DESCRIBE, _R.CLUSTER), (_O.ALTER, _R.CLUSTER), (_O.CLUSTER_ACTION, _R.CLUSTER)
CONFIGS, ALTER_CONFIGS = (_O.DESCRIBE_CONFIGS, _R.CLUSTER), (_O.ALTER_CONFIGS, _R.CLUSTER)
IDEMPOTENT_WRITE = (_O.IDEMPOTENT_WRITE, _R.CLUSTER)

_SHOWN_OF_A_GROUP = {
    READ_GROUP, DELETE_GROUP, DESCRIBE_GROUP, (_O.DESCRIBE_CONFIGS, _R.GROUP), (_O.ALTER_CONFIGS, _R.GROUP),
}  # fmt: skip
_SHOWN_OF_THE_CLUSTER = {CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE}
_SHOWN_OF_A_TOPIC = {
    READ_TOPIC, WRITE_TOPIC, (_O.CREATE, _R.TOPIC), DELETE_TOPIC, ALTER_TOPIC, DESCRIBE_TOPIC, TOPIC_CONFIGS,
    ALTER_TOPIC_CONFIGS,
}  # fmt: skip

KAFKA: Final[dict[str, set[Asked]]] = {
    "produce": {WRITE_TOPIC},
    "fetch": {READ_TOPIC},
    "list_offsets": {DESCRIBE_TOPIC},
    "metadata": {DESCRIBE_TOPIC, CREATE},
    "offset_commit": {READ_GROUP, READ_TOPIC},
    "offset_fetch": {DESCRIBE_GROUP, DESCRIBE_TOPIC},
    "find_coordinator": {DESCRIBE_GROUP},
    "join_group": {READ_GROUP},
    "heartbeat": {READ_GROUP},
    "leave_group": {READ_GROUP},
    "sync_group": {READ_GROUP},
    "describe_groups": _SHOWN_OF_A_GROUP,
    "list_groups": {DESCRIBE},
    "sasl_handshake": NOTHING,
    "api_versions": NOTHING,
    "create_topics": {CREATE, TOPIC_CONFIGS},
    "delete_topics": {DELETE},
    "delete_records": {DELETE_TOPIC},
    "init_producer_id": {IDEMPOTENT_WRITE},
    "offset_for_leader_epoch": {DESCRIBE_TOPIC},
    "add_partitions_to_txn": {CLUSTER_ACTION},
    "add_offsets_to_txn": {WRITE_ID, READ_GROUP},
    "end_txn": {WRITE_ID},
    "write_txn_markers": {ALTER},
    "txn_offset_commit": {WRITE_ID, READ_GROUP, READ_TOPIC},
    "describe_acls": {DESCRIBE},
    "create_acls": {ALTER},
    "delete_acls": {ALTER},
    "describe_configs": {TOPIC_CONFIGS, CONFIGS},
    "alter_configs": {ALTER_TOPIC_CONFIGS, ALTER_CONFIGS},
    "alter_replica_log_dirs": {ALTER},
    "describe_log_dirs": {DESCRIBE},
    "sasl_authenticate": NOTHING,
    "create_partitions": {ALTER_TOPIC},
    "delete_groups": {DELETE_GROUP},
    "elect_leaders": {ALTER},
    "incremental_alter_configs": {ALTER_TOPIC_CONFIGS, ALTER_CONFIGS},
    "alter_partition_reassignments": {ALTER},
    "list_partition_reassignments": {DESCRIBE},
    "offset_delete": {DELETE_GROUP, READ_TOPIC},
    "describe_client_quotas": {CONFIGS},
    "alter_client_quotas": {ALTER_CONFIGS},
    "describe_user_scram_credentials": {DESCRIBE},
    "alter_user_scram_credentials": {ALTER},
    "describe_quorum": {DESCRIBE},
    "update_features": {ALTER},
    "describe_cluster": _SHOWN_OF_THE_CLUSTER,
    "describe_producers": {READ_TOPIC},
    "describe_transactions": {DESCRIBE_ID},
    "list_transactions": {DESCRIBE_ID},
    "get_telemetry_subscriptions": NOTHING,
    "push_telemetry": NOTHING,
    "list_config_resources": {CONFIGS},
    "describe_topic_partitions": _SHOWN_OF_A_TOPIC,
}
"""By the name of the API, for its samples; DescribeCluster and the like ask for what they show."""

PUSH: Final[dict[str, set[Asked]]] = {
    "AUTHENTICATE": NOTHING,
    "PUBLISH": {WRITE_TOPIC},
    "CREATE_TOPIC": {CREATE},
    "CREATE_SUBSCRIPTION": {READ_GROUP, READ_TOPIC},
    "SUBSCRIBE": {READ_GROUP, READ_TOPIC},
    "COMMIT_OFFSET": {READ_GROUP},
    "RESET": {READ_GROUP, READ_TOPIC},
    "READY": {READ_GROUP},
    "ACK": {READ_GROUP},
    "UNSUBSCRIBE": {READ_GROUP},
    "DELETE_SUBSCRIPTION": {DELETE_GROUP},
    "HEARTBEAT": NOTHING,
    "ERROR": NOTHING,
    "DISCONNECT": NOTHING,
}
"""By the type of the frame; DATA is the broker's alone."""

_DOCUMENTS: Final = dict.fromkeys(("GET /docs", "GET /openapi.json"), NOTHING)


def _documents(prefix: str) -> dict[str, set[Asked]]:
    return {f"GET {prefix}{path.removeprefix('GET ')}": NOTHING for path in _DOCUMENTS}


NODE: Final[dict[str, set[Asked]]] = {
    "GET /health/live": NOTHING,
    "GET /health/ready": {DESCRIBE},
    "GET /metrics": {DESCRIBE},
    "GET /pipe/topics": {READ_TOPIC},
    "POST /pipe/records": {READ_TOPIC},
    "GET /pipe/status": {DESCRIBE},
    "POST /pipe/reset": {ALTER},
    "GET /push/subscriptions": {DESCRIBE},
    "POST /push/subscriptions/{name}/reset": {READ_GROUP, READ_TOPIC},
    **_documents("/test"),
    "POST /test/load-from-sqlite": {WRITE_TOPIC},
    "POST /test/inject-messages": {WRITE_TOPIC},
    "GET /test/stats": {DESCRIBE},
    **_documents("/api/v1"),
    "GET /api/v1/cluster": {DESCRIBE},
    "GET /api/v1/brokers": NOTHING,
    "GET /api/v1/brokers/{broker}": NOTHING,
    "GET /api/v1/topics": {DESCRIBE_TOPIC},
    "POST /api/v1/topics": {CREATE},
    "GET /api/v1/topics/{topic}": {DESCRIBE_TOPIC, TOPIC_CONFIGS, DESCRIBE_GROUP},
    "DELETE /api/v1/topics/{topic}": {DELETE},
    "GET /api/v1/topics/{topic}/partitions": {DESCRIBE_TOPIC},
    "POST /api/v1/topics/{topic}/partitions": {ALTER_TOPIC},
    "GET /api/v1/topics/{topic}/partitions/{partition}": {DESCRIBE_TOPIC},
    "GET /api/v1/topics/{topic}/configs": {TOPIC_CONFIGS},
    "PATCH /api/v1/topics/{topic}/configs": {ALTER_TOPIC_CONFIGS, TOPIC_CONFIGS},
    "GET /api/v1/brokers/{broker}/configs": {CONFIGS},
    "PATCH /api/v1/brokers/{broker}/configs": {ALTER_CONFIGS, CONFIGS},
    "GET /api/v1/cluster/configs": {CONFIGS},
    "PATCH /api/v1/cluster/configs": {ALTER_CONFIGS, CONFIGS},
    "GET /api/v1/topics/{topic}/partitions/{partition}/messages": {READ_TOPIC},
    "POST /api/v1/topics/{topic}/messages": {WRITE_TOPIC},
    "GET /api/v1/groups": {DESCRIBE},
    "GET /api/v1/groups/{group}": {DESCRIBE_GROUP},
    "DELETE /api/v1/groups/{group}": {DELETE_GROUP},
    "GET /api/v1/groups/{group}/offsets": {DESCRIBE_GROUP, DESCRIBE_TOPIC},
    "POST /api/v1/groups/{group}/offsets/reset": {DESCRIBE_GROUP, DESCRIBE_TOPIC, READ_GROUP, READ_TOPIC},
    "GET /api/v1/security/connections": {DESCRIBE},
    "POST /api/v1/security/disconnect": {ALTER},
    "GET /api/v1/security/tokens": {DESCRIBE},
    "POST /api/v1/security/tokens": {ALTER},
    "DELETE /api/v1/security/tokens/{token}": {ALTER},
    "POST /api/v1/session": NOTHING,  # one's own
    "GET /api/v1/session": NOTHING,
    "DELETE /api/v1/session": NOTHING,
    "GET /api/v1/transactions": {DESCRIBE_ID},
    "GET /api/v1/transactions/{transactional_id}": {DESCRIBE_ID},
    "POST /api/v1/transactions/{transactional_id}/abort": {WRITE_ID},
    "GET /api/v1/hanging-transactions": NOTHING,  # there are none: each is shown to readers of its topic
    "POST /api/v1/hanging-transactions/abort": {ALTER, DESCRIBE_TOPIC},
}
"""By method and path of the HTTP port of a node."""

REGISTRY: Final[dict[str, set[Asked]]] = {
    "GET /health": {DESCRIBE},
    "GET /health/ready": {DESCRIBE},
    "GET /health/live": NOTHING,
    "GET /metrics": {DESCRIBE},
    **_documents("/registry"),
    "POST /registry/nodes": {CLUSTER_ACTION},
    "GET /registry/nodes/{nodeId}/topology": {CLUSTER_ACTION},
    "GET /registry/nodes": {DESCRIBE},
    "GET /registry/nodes/{nodeId}": {DESCRIBE},
    "PUT /registry/nodes/{nodeId}/parent": {ALTER},
    "DELETE /registry/nodes/{nodeId}": {ALTER},
}

EDGE: Final[dict[str, set[Asked]]] = {
    **_documents(""),
    "GET /messages": {READ_TOPIC},
    "GET /messages/latest": {READ_TOPIC},
    "GET /stats": {DESCRIBE},
    "GET /segments": {DESCRIBE},
    "GET /health": {DESCRIBE},
    "GET /health/ready": {DESCRIBE},
    "GET /health/live": NOTHING,
    "POST /refresh": {ALTER},
    "GET /metrics": {DESCRIBE},
}

CONSUMERS: Final[dict[str, set[Asked]]] = {"GET /metrics": {DESCRIBE}}
"""Of the metrics port of consumers that run on their own."""
