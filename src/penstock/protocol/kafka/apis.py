"""The one table of Kafka APIs that Penstock answers: key, name, versions, handler module.

`advertised` is what ApiVersions says, `accepted` what is really taken; they differ only for Produce, which Kafka
advertises from v0 because librdkafka stops compressing otherwise (KAFKA-18659). `flexible` is the first version
with compact strings and tagged fields, which also decides the header versions.
"""

from __future__ import annotations

from typing import NamedTuple


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


PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, OFFSET_DELETE = 0, 1, 2, 3, 18, 47

APIS: dict[int, Api] = {
    api.key: api
    for api in (
        _api(0, "Produce", 3, 13, 9, "produce", advertised_oldest=0),
        _api(1, "Fetch", 4, 18, 12, "fetch"),
        _api(2, "ListOffsets", 1, 11, 6, "list_offsets"),
        _api(3, "Metadata", 0, 13, 9, "metadata"),
        _api(8, "OffsetCommit", 2, 10, 8, "offset_commit"),
        _api(9, "OffsetFetch", 1, 10, 6, "offset_fetch"),
        _api(10, "FindCoordinator", 0, 6, 3, "find_coordinator"),
        _api(11, "JoinGroup", 0, 9, 6, "join_group"),
        _api(12, "Heartbeat", 0, 4, 4, "heartbeat"),
        _api(13, "LeaveGroup", 0, 5, 4, "leave_group"),
        _api(14, "SyncGroup", 0, 5, 4, "sync_group"),
        _api(15, "DescribeGroups", 0, 6, 5, "describe_groups"),
        _api(16, "ListGroups", 0, 5, 3, "list_groups"),
        _api(18, "ApiVersions", 0, 4, 3, "api_versions"),
        _api(19, "CreateTopics", 2, 7, 5, "create_topics"),
        _api(20, "DeleteTopics", 1, 6, 4, "delete_topics"),
        _api(21, "DeleteRecords", 0, 2, 2, "delete_records"),
        _api(22, "InitProducerId", 0, 5, 2, "init_producer_id"),
        _api(23, "OffsetForLeaderEpoch", 2, 4, 4, "offset_for_leader_epoch"),
        _api(24, "AddPartitionsToTxn", 0, 5, 3, "add_partitions_to_txn"),
        _api(25, "AddOffsetsToTxn", 0, 4, 3, "add_offsets_to_txn"),
        _api(26, "EndTxn", 0, 5, 3, "end_txn"),
        _api(27, "WriteTxnMarkers", 1, 2, 1, "write_txn_markers"),
        _api(28, "TxnOffsetCommit", 0, 5, 3, "txn_offset_commit"),
        _api(32, "DescribeConfigs", 1, 4, 4, "describe_configs"),
        _api(33, "AlterConfigs", 0, 2, 2, "alter_configs"),
        _api(34, "AlterReplicaLogDirs", 1, 2, 2, "alter_replica_log_dirs"),
        _api(35, "DescribeLogDirs", 1, 5, 2, "describe_log_dirs"),
        _api(37, "CreatePartitions", 0, 3, 2, "create_partitions"),
        _api(42, "DeleteGroups", 0, 2, 2, "delete_groups"),
        _api(43, "ElectLeaders", 0, 2, 2, "elect_leaders"),
        _api(44, "IncrementalAlterConfigs", 0, 1, 1, "incremental_alter_configs"),
        _api(45, "AlterPartitionReassignments", 0, 1, 0, "alter_partition_reassignments"),
        _api(46, "ListPartitionReassignments", 0, 0, 0, "list_partition_reassignments"),
        _api(47, "OffsetDelete", 0, 0, NEVER, "offset_delete"),
        _api(48, "DescribeClientQuotas", 0, 1, 1, "describe_client_quotas"),
        _api(49, "AlterClientQuotas", 0, 1, 1, "alter_client_quotas"),
        _api(55, "DescribeQuorum", 0, 2, 0, "describe_quorum"),
        _api(57, "UpdateFeatures", 0, 2, 0, "update_features"),
        _api(60, "DescribeCluster", 0, 2, 0, "describe_cluster"),
        _api(61, "DescribeProducers", 0, 0, 0, "describe_producers"),
        _api(65, "DescribeTransactions", 0, 0, 0, "describe_transactions"),
        _api(66, "ListTransactions", 0, 2, 0, "list_transactions"),
        _api(71, "GetTelemetrySubscriptions", 0, 0, 0, "get_telemetry_subscriptions"),
        _api(72, "PushTelemetry", 0, 0, 0, "push_telemetry"),
        _api(74, "ListConfigResources", 0, 1, 0, "list_config_resources"),
        _api(75, "DescribeTopicPartitions", 0, 0, 0, "describe_topic_partitions"),
    )
}
