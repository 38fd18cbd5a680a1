"""The one table of Kafka APIs that Penstock answers: key, name, versions, handler module.

ApiVersions shows the `advertised` versions, and the `accepted` ones are served; they differ only for Produce, which
Kafka advertises from v0 because librdkafka stops compressing otherwise (KAFKA-18659). `flexible` is the first version
with compact strings and tagged fields, which also decides the header versions.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Api(NamedTuple):
    key: int
    name: str
    oldest: int
    newest: int
    flexible: int  # first flexible version
    handler: str  # module under penstock.broker.handlers
    advertised_oldest: int

    def accepts(self, version: int) -> bool:
        return self.oldest <= version <= self.newest


NEVER = 1 << 15


def _api(
    key: int, name: str, oldest: int, newest: int, flexible: int, handler: str, advertised_oldest: int | None = None
) -> Api:
    return Api(key, name, oldest, newest, flexible, handler, oldest if advertised_oldest is None else advertised_oldest)


# Final, so that mypy knows the request and the reply of `client.calls.Calls.call(KEY, ...)`.
PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
METADATA: Final = 3
OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9
FIND_COORDINATOR: Final = 10
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
CREATE_TOPICS: Final = 19
INIT_PRODUCER_ID: Final = 22
END_TXN: Final = 26
WRITE_TXN_MARKERS: Final = 27
DESCRIBE_CONFIGS: Final = 32
SASL_AUTHENTICATE: Final = 36
OFFSET_DELETE: Final = 47
DESCRIBE_PRODUCERS: Final = 61
DESCRIBE_TRANSACTIONS: Final = 65
LIST_TRANSACTIONS: Final = 66
GET_TELEMETRY_SUBSCRIPTIONS: Final = 71
PUSH_TELEMETRY: Final = 72
# FindCoordinator, LeaveGroup, DescribeGroups, ListGroups, DeleteTopics, CreateAcls, DeleteAcls, AlterConfigs,
# DeleteGroups, IncrementalAlterConfigs, quotas, SCRAM users, DescribeTransactions, ListTransactions.
ABOUT_NAMES: Final = frozenset({10, 13, 15, 16, 20, 30, 31, 33, 42, 44, 48, 49, 50, 51, 65, 66})
"""Requests that name no partitions, but groups, rules, users or transactional ids, or what is to be changed."""

APIS: dict[int, Api] = {
    api.key: api
    for api in (
        _api(0, "Produce", 3, 13, 9, "records.produce", advertised_oldest=0),
        _api(1, "Fetch", 4, 18, 12, "records.fetch"),
        _api(2, "ListOffsets", 1, 11, 6, "records.list_offsets"),
        _api(3, "Metadata", 0, 13, 9, "topics.metadata"),
        _api(8, "OffsetCommit", 2, 10, 8, "groups.offset_commit"),
        _api(9, "OffsetFetch", 1, 10, 6, "groups.offset_fetch"),
        _api(10, "FindCoordinator", 0, 6, 3, "groups.find_coordinator"),
        _api(11, "JoinGroup", 0, 9, 6, "groups.join_group"),
        _api(12, "Heartbeat", 0, 4, 4, "groups.heartbeat"),
        _api(13, "LeaveGroup", 0, 5, 4, "groups.leave_group"),
        _api(14, "SyncGroup", 0, 5, 4, "groups.sync_group"),
        _api(15, "DescribeGroups", 0, 6, 5, "groups.describe_groups"),
        _api(16, "ListGroups", 0, 5, 3, "groups.list_groups"),
        _api(17, "SaslHandshake", 0, 1, NEVER, "security.sasl_handshake"),
        _api(18, "ApiVersions", 0, 4, 3, "cluster.api_versions"),
        _api(19, "CreateTopics", 2, 7, 5, "topics.create_topics"),
        _api(20, "DeleteTopics", 1, 6, 4, "topics.delete_topics"),
        _api(21, "DeleteRecords", 0, 2, 2, "records.delete_records"),
        _api(22, "InitProducerId", 0, 5, 2, "transactions.init_producer_id"),
        _api(23, "OffsetForLeaderEpoch", 2, 4, 4, "records.offset_for_leader_epoch"),
        _api(24, "AddPartitionsToTxn", 0, 5, 3, "transactions.add_partitions_to_txn"),
        _api(25, "AddOffsetsToTxn", 0, 4, 3, "transactions.add_offsets_to_txn"),
        _api(26, "EndTxn", 0, 5, 3, "transactions.end_txn"),
        _api(27, "WriteTxnMarkers", 1, 2, 1, "transactions.write_txn_markers"),
        _api(28, "TxnOffsetCommit", 0, 5, 3, "transactions.txn_offset_commit"),
        _api(29, "DescribeAcls", 1, 3, 2, "security.describe_acls"),
        _api(30, "CreateAcls", 1, 3, 2, "security.create_acls"),
        _api(31, "DeleteAcls", 1, 3, 2, "security.delete_acls"),
        _api(32, "DescribeConfigs", 1, 4, 4, "configs.describe_configs"),
        _api(33, "AlterConfigs", 0, 2, 2, "configs.alter_configs"),
        _api(34, "AlterReplicaLogDirs", 1, 2, 2, "cluster.alter_replica_log_dirs"),
        _api(35, "DescribeLogDirs", 1, 5, 2, "cluster.describe_log_dirs"),
        _api(36, "SaslAuthenticate", 0, 2, 2, "security.sasl_authenticate"),
        _api(37, "CreatePartitions", 0, 3, 2, "topics.create_partitions"),
        _api(42, "DeleteGroups", 0, 2, 2, "groups.delete_groups"),
        _api(43, "ElectLeaders", 0, 2, 2, "topics.elect_leaders"),
        _api(44, "IncrementalAlterConfigs", 0, 1, 1, "configs.incremental_alter_configs"),
        _api(45, "AlterPartitionReassignments", 0, 1, 0, "topics.alter_partition_reassignments"),
        _api(46, "ListPartitionReassignments", 0, 0, 0, "topics.list_partition_reassignments"),
        _api(47, "OffsetDelete", 0, 0, NEVER, "groups.offset_delete"),
        _api(48, "DescribeClientQuotas", 0, 1, 1, "configs.describe_client_quotas"),
        _api(49, "AlterClientQuotas", 0, 1, 1, "configs.alter_client_quotas"),
        _api(50, "DescribeUserScramCredentials", 0, 0, 0, "security.describe_user_scram_credentials"),
        _api(51, "AlterUserScramCredentials", 0, 0, 0, "security.alter_user_scram_credentials"),
        _api(55, "DescribeQuorum", 0, 2, 0, "cluster.describe_quorum"),
        _api(57, "UpdateFeatures", 0, 2, 0, "cluster.update_features"),
        _api(60, "DescribeCluster", 0, 2, 0, "cluster.describe_cluster"),
        _api(61, "DescribeProducers", 0, 0, 0, "records.describe_producers"),
        _api(65, "DescribeTransactions", 0, 0, 0, "transactions.describe_transactions"),
        _api(66, "ListTransactions", 0, 2, 0, "transactions.list_transactions"),
        _api(71, "GetTelemetrySubscriptions", 0, 0, 0, "cluster.get_telemetry_subscriptions"),
        _api(72, "PushTelemetry", 0, 0, 0, "cluster.push_telemetry"),
        _api(74, "ListConfigResources", 0, 1, 0, "configs.list_config_resources"),
        _api(75, "DescribeTopicPartitions", 0, 0, 0, "topics.describe_topic_partitions"),
    )
}
