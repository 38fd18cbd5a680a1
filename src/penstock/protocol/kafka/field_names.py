"""Fields of all versions of an entity, by API and class. Made by `python -m tools.wire_types`; do not edit."""

from __future__ import annotations

FIELD_NAMES: dict[str, str] = {
    "add_offsets_to_txn.AddOffsetsToTxnRequest": "group_id producer_epoch producer_id transactional_id",
    "add_offsets_to_txn.AddOffsetsToTxnResponse": "error_code throttle_time",
    "add_partitions_to_txn.AddPartitionsToTxnPartitionResult": "partition_error_code partition_index",
    "add_partitions_to_txn.AddPartitionsToTxnRequest": (
        "transactions v3_and_below_producer_epoch v3_and_below_producer_id v3_and_below_topics "
        "v3_and_below_transactional_id"
    ),
    "add_partitions_to_txn.AddPartitionsToTxnResponse": (
        "error_code results_by_topic_v3_and_below results_by_transaction throttle_time"
    ),
    "add_partitions_to_txn.AddPartitionsToTxnResult": "topic_results transactional_id",
    "add_partitions_to_txn.AddPartitionsToTxnTopic": "name partitions",
    "add_partitions_to_txn.AddPartitionsToTxnTopicResult": "name results_by_partition",
    "add_partitions_to_txn.AddPartitionsToTxnTransaction": (
        "producer_epoch producer_id topics transactional_id verify_only"
    ),
    "alter_client_quotas.AlterClientQuotasRequest": "entries validate_only",
    "alter_client_quotas.AlterClientQuotasResponse": "entries throttle_time",
    "alter_client_quotas.EntityData": "entity_name entity_type",
    "alter_client_quotas.EntryData": "entity error_code error_message ops",
    "alter_client_quotas.OpData": "key remove value",
    "alter_configs.AlterConfigsRequest": "resources validate_only",
    "alter_configs.AlterConfigsResource": "configs resource_name resource_type",
    "alter_configs.AlterConfigsResourceResponse": "error_code error_message resource_name resource_type",
    "alter_configs.AlterConfigsResponse": "responses throttle_time",
    "alter_configs.AlterableConfig": "name value",
    "alter_partition_reassignments.AlterPartitionReassignmentsRequest": (
        "allow_replication_factor_change timeout topics"
    ),
    "alter_partition_reassignments.AlterPartitionReassignmentsResponse": (
        "allow_replication_factor_change error_code error_message responses throttle_time"
    ),
    "alter_partition_reassignments.ReassignablePartition": "partition_index replicas",
    "alter_partition_reassignments.ReassignablePartitionResponse": "error_code error_message partition_index",
    "alter_partition_reassignments.ReassignableTopic": "name partitions",
    "alter_partition_reassignments.ReassignableTopicResponse": "name partitions",
    "alter_replica_log_dirs.AlterReplicaLogDir": "path topics",
    "alter_replica_log_dirs.AlterReplicaLogDirPartitionResult": "error_code partition_index",
    "alter_replica_log_dirs.AlterReplicaLogDirTopic": "name partitions",
    "alter_replica_log_dirs.AlterReplicaLogDirTopicResult": "partitions topic_name",
    "alter_replica_log_dirs.AlterReplicaLogDirsRequest": "dirs",
    "alter_replica_log_dirs.AlterReplicaLogDirsResponse": "results throttle_time",
    "alter_user_scram_credentials.AlterUserScramCredentialsRequest": "deletions upsertions",
    "alter_user_scram_credentials.AlterUserScramCredentialsResponse": "results throttle_time",
    "alter_user_scram_credentials.AlterUserScramCredentialsResult": "error_code error_message user",
    "alter_user_scram_credentials.ScramCredentialDeletion": "mechanism name",
    "alter_user_scram_credentials.ScramCredentialUpsertion": "iterations mechanism name salt salted_password",
    "api_versions.ApiVersion": "api_key max_version min_version",
    "api_versions.ApiVersionsRequest": "client_software_name client_software_version",
    "api_versions.ApiVersionsResponse": (
        "api_keys error_code finalized_features finalized_features_epoch supported_features throttle_time "
        "zk_migration_ready"
    ),
    "api_versions.FinalizedFeatureKey": "max_version_level min_version_level name",
    "api_versions.SupportedFeatureKey": "max_version min_version name",
    "create_acls.AclCreation": (
        "host operation permission_type principal resource_name resource_pattern_type resource_type"
    ),
    "create_acls.AclCreationResult": "error_code error_message",
    "create_acls.CreateAclsRequest": "creations",
    "create_acls.CreateAclsResponse": "results throttle_time",
    "create_partitions.CreatePartitionsAssignment": "broker_ids",
    "create_partitions.CreatePartitionsRequest": "timeout topics validate_only",
    "create_partitions.CreatePartitionsResponse": "results throttle_time",
    "create_partitions.CreatePartitionsTopic": "assignments count name",
    "create_partitions.CreatePartitionsTopicResult": "error_code error_message name",
    "create_topics.CreatableReplicaAssignment": "broker_ids partition_index",
    "create_topics.CreatableTopic": "assignments configs name num_partitions replication_factor",
    "create_topics.CreatableTopicConfig": "name value",
    "create_topics.CreatableTopicConfigs": "config_source is_sensitive name read_only value",
    "create_topics.CreatableTopicResult": (
        "configs error_code error_message name num_partitions replication_factor topic_config_error_code topic_id"
    ),
    "create_topics.CreateTopicsRequest": "timeout topics validate_only",
    "create_topics.CreateTopicsResponse": "throttle_time topics",
    "delete_acls.DeleteAclsFilter": (
        "host_filter operation pattern_type_filter permission_type principal_filter resource_name_filter "
        "resource_type_filter"
    ),
    "delete_acls.DeleteAclsFilterResult": "error_code error_message matching_acls",
    "delete_acls.DeleteAclsMatchingAcl": (
        "error_code error_message host operation pattern_type permission_type principal resource_name resource_type"
    ),
    "delete_acls.DeleteAclsRequest": "filters",
    "delete_acls.DeleteAclsResponse": "filter_results throttle_time",
    "delete_groups.DeletableGroupResult": "error_code group_id",
    "delete_groups.DeleteGroupsRequest": "groups_names",
    "delete_groups.DeleteGroupsResponse": "results throttle_time",
    "delete_records.DeleteRecordsPartition": "offset partition_index",
    "delete_records.DeleteRecordsPartitionResult": "error_code low_watermark partition_index",
    "delete_records.DeleteRecordsRequest": "timeout topics",
    "delete_records.DeleteRecordsResponse": "throttle_time topics",
    "delete_records.DeleteRecordsTopic": "name partitions",
    "delete_records.DeleteRecordsTopicResult": "name partitions",
    "delete_topics.DeletableTopicResult": "error_code error_message name topic_id",
    "delete_topics.DeleteTopicState": "name topic_id",
    "delete_topics.DeleteTopicsRequest": "timeout topic_names topics",
    "delete_topics.DeleteTopicsResponse": "responses throttle_time",
    "describe_acls.AclDescription": "host operation permission_type principal",
    "describe_acls.DescribeAclsRequest": (
        "host_filter operation pattern_type_filter permission_type principal_filter resource_name_filter "
        "resource_type_filter"
    ),
    "describe_acls.DescribeAclsResource": "acls pattern_type resource_name resource_type",
    "describe_acls.DescribeAclsResponse": "error_code error_message resources throttle_time",
    "describe_client_quotas.ComponentData": "entity_type match match_type",
    "describe_client_quotas.DescribeClientQuotasRequest": "components strict",
    "describe_client_quotas.DescribeClientQuotasResponse": "entries error_code error_message throttle_time",
    "describe_client_quotas.EntityData": "entity_name entity_type",
    "describe_client_quotas.EntryData": "entity values",
    "describe_client_quotas.ValueData": "key value",
    "describe_cluster.DescribeClusterBroker": "broker_id host is_fenced port rack",
    "describe_cluster.DescribeClusterRequest": (
        "endpoint_type include_cluster_authorized_operations include_fenced_brokers"
    ),
    "describe_cluster.DescribeClusterResponse": (
        "brokers cluster_authorized_operations cluster_id controller_id endpoint_type error_code error_message "
        "throttle_time"
    ),
    "describe_configs.DescribeConfigsRequest": "include_documentation include_synonyms resources",
    "describe_configs.DescribeConfigsResource": "configuration_keys resource_name resource_type",
    "describe_configs.DescribeConfigsResourceResult": (
        "config_source config_type documentation is_sensitive name read_only synonyms value"
    ),
    "describe_configs.DescribeConfigsResponse": "results throttle_time",
    "describe_configs.DescribeConfigsResult": "configs error_code error_message resource_name resource_type",
    "describe_configs.DescribeConfigsSynonym": "name source value",
    "describe_groups.DescribeGroupsRequest": "groups include_authorized_operations",
    "describe_groups.DescribeGroupsResponse": "groups throttle_time",
    "describe_groups.DescribedGroup": (
        "authorized_operations error_code error_message group_id group_state members protocol_data protocol_type"
    ),
    "describe_groups.DescribedGroupMember": (
        "client_host client_id group_instance_id member_assignment member_id member_metadata"
    ),
    "describe_log_dirs.DescribableLogDirTopic": "partitions topic",
    "describe_log_dirs.DescribeLogDirsPartition": "is_future_key offset_lag partition_index partition_size",
    "describe_log_dirs.DescribeLogDirsRequest": "topics",
    "describe_log_dirs.DescribeLogDirsResponse": "error_code results throttle_time",
    "describe_log_dirs.DescribeLogDirsResult": "error_code is_cordoned log_dir topics total_bytes usable_bytes",
    "describe_log_dirs.DescribeLogDirsTopic": "name partitions",
    "describe_producers.DescribeProducersRequest": "topics",
    "describe_producers.DescribeProducersResponse": "throttle_time topics",
    "describe_producers.PartitionResponse": "active_producers error_code error_message partition_index",
    "describe_producers.ProducerState": (
        "coordinator_epoch current_txn_start_offset last_sequence last_timestamp producer_epoch producer_id"
    ),
    "describe_producers.TopicRequest": "name partition_indexes",
    "describe_producers.TopicResponse": "name partitions",
    "describe_quorum.DescribeQuorumRequest": "topics",
    "describe_quorum.DescribeQuorumResponse": "error_code error_message nodes topics",
    "describe_quorum.Listener": "host name port",
    "describe_quorum.Node": "listeners node_id",
    "describe_quorum.PartitionData": (
        "current_voters error_code error_message high_watermark leader_epoch leader_id observers partition_index"
    ),
    "describe_quorum.ReplicaState": (
        "last_caught_up_timestamp last_fetch_timestamp log_end_offset replica_directory_id replica_id"
    ),
    "describe_quorum.TopicData": "partitions topic_name",
    "describe_topic_partitions.Cursor": "partition_index topic_name",
    "describe_topic_partitions.DescribeTopicPartitionsRequest": "cursor response_partition_limit topics",
    "describe_topic_partitions.DescribeTopicPartitionsResponse": "next_cursor throttle_time topics",
    "describe_topic_partitions.DescribeTopicPartitionsResponsePartition": (
        "eligible_leader_replicas error_code isr_nodes last_known_elr leader_epoch leader_id offline_replicas "
        "partition_index replica_nodes"
    ),
    "describe_topic_partitions.DescribeTopicPartitionsResponseTopic": (
        "error_code is_internal name partitions topic_authorized_operations topic_id"
    ),
    "describe_topic_partitions.TopicRequest": "name",
    "describe_transactions.DescribeTransactionsRequest": "transactional_ids",
    "describe_transactions.DescribeTransactionsResponse": "throttle_time transaction_states",
    "describe_transactions.TopicData": "partitions topic",
    "describe_transactions.TransactionState": (
        "error_code producer_epoch producer_id topics transaction_start_time transaction_state transaction_timeout "
        "transactional_id"
    ),
    "describe_user_scram_credentials.CredentialInfo": "iterations mechanism",
    "describe_user_scram_credentials.DescribeUserScramCredentialsRequest": "users",
    "describe_user_scram_credentials.DescribeUserScramCredentialsResponse": (
        "error_code error_message results throttle_time"
    ),
    "describe_user_scram_credentials.DescribeUserScramCredentialsResult": (
        "credential_infos error_code error_message user"
    ),
    "describe_user_scram_credentials.UserName": "name",
    "elect_leaders.ElectLeadersRequest": "election_type timeout topic_partitions",
    "elect_leaders.ElectLeadersResponse": "error_code replica_election_results throttle_time",
    "elect_leaders.PartitionResult": "error_code error_message partition_id",
    "elect_leaders.ReplicaElectionResult": "partition_result topic",
    "elect_leaders.TopicPartitions": "partitions topic",
    "end_txn.EndTxnRequest": "committed producer_epoch producer_id transactional_id",
    "end_txn.EndTxnResponse": "error_code producer_epoch producer_id throttle_time",
    "fetch.AbortedTransaction": "first_offset producer_id",
    "fetch.EpochEndOffset": "end_offset epoch",
    "fetch.FetchPartition": (
        "current_leader_epoch fetch_offset high_watermark last_fetched_epoch log_start_offset partition "
        "partition_max_bytes replica_directory_id"
    ),
    "fetch.FetchRequest": (
        "cluster_id forgotten_topics_data isolation_level max_bytes max_wait min_bytes rack_id replica_id "
        "replica_state session_epoch session_id topics"
    ),
    "fetch.FetchResponse": "error_code node_endpoints responses session_id throttle_time",
    "fetch.FetchTopic": "partitions topic topic_id",
    "fetch.FetchableTopicResponse": "partitions topic topic_id",
    "fetch.ForgottenTopic": "partitions topic topic_id",
    "fetch.LeaderIdAndEpoch": "leader_epoch leader_id",
    "fetch.NodeEndpoint": "host node_id port rack",
    "fetch.PartitionData": (
        "aborted_transactions current_leader diverging_epoch error_code high_watermark last_stable_offset "
        "log_start_offset partition_index preferred_read_replica records snapshot_id"
    ),
    "fetch.ReplicaState": "replica_epoch replica_id",
    "fetch.SnapshotId": "end_offset epoch",
    "find_coordinator.Coordinator": "error_code error_message host key node_id port",
    "find_coordinator.FindCoordinatorRequest": "coordinator_keys key key_type",
    "find_coordinator.FindCoordinatorResponse": "coordinators error_code error_message host node_id port throttle_time",
    "get_telemetry_subscriptions.GetTelemetrySubscriptionsRequest": "client_instance_id",
    "get_telemetry_subscriptions.GetTelemetrySubscriptionsResponse": (
        "accepted_compression_types client_instance_id delta_temporality error_code push_interval requested_metrics "
        "subscription_id telemetry_max_bytes throttle_time"
    ),
    "heartbeat.HeartbeatRequest": "generation_id group_id group_instance_id member_id",
    "heartbeat.HeartbeatResponse": "error_code throttle_time",
    "incremental_alter_configs.AlterConfigsResource": "configs resource_name resource_type",
    "incremental_alter_configs.AlterConfigsResourceResponse": "error_code error_message resource_name resource_type",
    "incremental_alter_configs.AlterableConfig": "config_operation name value",
    "incremental_alter_configs.IncrementalAlterConfigsRequest": "resources validate_only",
    "incremental_alter_configs.IncrementalAlterConfigsResponse": "responses throttle_time",
    "init_producer_id.InitProducerIdRequest": (
        "enable2_pc keep_prepared_txn producer_epoch producer_id transaction_timeout transactional_id"
    ),
    "init_producer_id.InitProducerIdResponse": (
        "error_code ongoing_txn_producer_epoch ongoing_txn_producer_id producer_epoch producer_id throttle_time"
    ),
    "join_group.JoinGroupRequest": (
        "group_id group_instance_id member_id protocol_type protocols reason rebalance_timeout session_timeout"
    ),
    "join_group.JoinGroupRequestProtocol": "metadata name",
    "join_group.JoinGroupResponse": (
        "error_code generation_id leader member_id members protocol_name protocol_type skip_assignment "
        "throttle_time"
    ),
    "join_group.JoinGroupResponseMember": "group_instance_id member_id metadata",
    "leave_group.LeaveGroupRequest": "group_id member_id members",
    "leave_group.LeaveGroupResponse": "error_code members throttle_time",
    "leave_group.MemberIdentity": "group_instance_id member_id reason",
    "leave_group.MemberResponse": "error_code group_instance_id member_id",
    "list_config_resources.ConfigResource": "resource_name resource_type",
    "list_config_resources.ListConfigResourcesRequest": "resource_types",
    "list_config_resources.ListConfigResourcesResponse": "config_resources error_code throttle_time",
    "list_groups.ListGroupsRequest": "states_filter types_filter",
    "list_groups.ListGroupsResponse": "error_code groups throttle_time",
    "list_groups.ListedGroup": "group_id group_state group_type protocol_type",
    "list_offsets.ListOffsetsPartition": "current_leader_epoch partition_index timestamp",
    "list_offsets.ListOffsetsPartitionResponse": "error_code leader_epoch offset partition_index timestamp",
    "list_offsets.ListOffsetsRequest": "isolation_level replica_id timeout topics",
    "list_offsets.ListOffsetsResponse": "throttle_time topics",
    "list_offsets.ListOffsetsTopic": "name partitions",
    "list_offsets.ListOffsetsTopicResponse": "name partitions",
    "list_partition_reassignments.ListPartitionReassignmentsRequest": "timeout topics",
    "list_partition_reassignments.ListPartitionReassignmentsResponse": "error_code error_message throttle_time topics",
    "list_partition_reassignments.ListPartitionReassignmentsTopics": "name partition_indexes",
    "list_partition_reassignments.OngoingPartitionReassignment": (
        "adding_replicas partition_index removing_replicas replicas"
    ),
    "list_partition_reassignments.OngoingTopicReassignment": "name partitions",
    "list_transactions.ListTransactionsRequest": (
        "duration_filter producer_id_filters state_filters transactional_id_pattern"
    ),
    "list_transactions.ListTransactionsResponse": "error_code throttle_time transaction_states unknown_state_filters",
    "list_transactions.TransactionState": "producer_id transaction_state transactional_id",
    "metadata.MetadataRequest": (
        "allow_auto_topic_creation include_cluster_authorized_operations include_topic_authorized_operations topics"
    ),
    "metadata.MetadataRequestTopic": "name topic_id",
    "metadata.MetadataResponse": (
        "brokers cluster_authorized_operations cluster_id controller_id error_code throttle_time topics"
    ),
    "metadata.MetadataResponseBroker": "host node_id port rack",
    "metadata.MetadataResponsePartition": (
        "error_code isr_nodes leader_epoch leader_id offline_replicas partition_index replica_nodes"
    ),
    "metadata.MetadataResponseTopic": "error_code is_internal name partitions topic_authorized_operations topic_id",
    "offset_commit.OffsetCommitRequest": (
        "generation_id_or_member_epoch group_id group_instance_id member_id retention_time topics"
    ),
    "offset_commit.OffsetCommitRequestPartition": (
        "committed_leader_epoch committed_metadata committed_offset partition_index"
    ),
    "offset_commit.OffsetCommitRequestTopic": "name partitions topic_id",
    "offset_commit.OffsetCommitResponse": "throttle_time topics",
    "offset_commit.OffsetCommitResponsePartition": "error_code partition_index",
    "offset_commit.OffsetCommitResponseTopic": "name partitions topic_id",
    "offset_delete.OffsetDeleteRequest": "group_id topics",
    "offset_delete.OffsetDeleteRequestPartition": "partition_index",
    "offset_delete.OffsetDeleteRequestTopic": "name partitions",
    "offset_delete.OffsetDeleteResponse": "error_code throttle_time topics",
    "offset_delete.OffsetDeleteResponsePartition": "error_code partition_index",
    "offset_delete.OffsetDeleteResponseTopic": "name partitions",
    "offset_fetch.OffsetFetchRequest": "group_id groups require_stable topics",
    "offset_fetch.OffsetFetchRequestGroup": "group_id member_epoch member_id topics",
    "offset_fetch.OffsetFetchRequestTopic": "name partition_indexes",
    "offset_fetch.OffsetFetchRequestTopics": "name partition_indexes topic_id",
    "offset_fetch.OffsetFetchResponse": "error_code groups throttle_time topics",
    "offset_fetch.OffsetFetchResponseGroup": "error_code group_id topics",
    "offset_fetch.OffsetFetchResponsePartition": (
        "committed_leader_epoch committed_offset error_code metadata partition_index"
    ),
    "offset_fetch.OffsetFetchResponsePartitions": (
        "committed_leader_epoch committed_offset error_code metadata partition_index"
    ),
    "offset_fetch.OffsetFetchResponseTopic": "name partitions",
    "offset_fetch.OffsetFetchResponseTopics": "name partitions topic_id",
    "offset_for_leader_epoch.EpochEndOffset": "end_offset error_code leader_epoch partition",
    "offset_for_leader_epoch.OffsetForLeaderEpochRequest": "replica_id topics",
    "offset_for_leader_epoch.OffsetForLeaderEpochResponse": "throttle_time topics",
    "offset_for_leader_epoch.OffsetForLeaderPartition": "current_leader_epoch leader_epoch partition",
    "offset_for_leader_epoch.OffsetForLeaderTopic": "partitions topic",
    "offset_for_leader_epoch.OffsetForLeaderTopicResult": "partitions topic",
    "produce.BatchIndexAndErrorMessage": "batch_index batch_index_error_message",
    "produce.LeaderIdAndEpoch": "leader_epoch leader_id",
    "produce.NodeEndpoint": "host node_id port rack",
    "produce.PartitionProduceData": "index records",
    "produce.PartitionProduceResponse": (
        "base_offset current_leader error_code error_message index log_append_time log_start_offset record_errors"
    ),
    "produce.ProduceRequest": "acks timeout topic_data transactional_id",
    "produce.ProduceResponse": "node_endpoints responses throttle_time",
    "produce.TopicProduceData": "name partition_data topic_id",
    "produce.TopicProduceResponse": "name partition_responses topic_id",
    "push_telemetry.PushTelemetryRequest": "client_instance_id compression_type metrics subscription_id terminating",
    "push_telemetry.PushTelemetryResponse": "error_code throttle_time",
    "sasl_authenticate.SaslAuthenticateRequest": "auth_bytes",
    "sasl_authenticate.SaslAuthenticateResponse": "auth_bytes error_code error_message session_lifetime",
    "sasl_handshake.SaslHandshakeRequest": "mechanism",
    "sasl_handshake.SaslHandshakeResponse": "error_code mechanisms",
    "sync_group.SyncGroupRequest": (
        "assignments generation_id group_id group_instance_id member_id protocol_name protocol_type"
    ),
    "sync_group.SyncGroupRequestAssignment": "assignment member_id",
    "sync_group.SyncGroupResponse": "assignment error_code protocol_name protocol_type throttle_time",
    "txn_offset_commit.TxnOffsetCommitRequest": (
        "generation_id group_id group_instance_id member_id producer_epoch producer_id topics transactional_id"
    ),
    "txn_offset_commit.TxnOffsetCommitRequestPartition": (
        "committed_leader_epoch committed_metadata committed_offset partition_index"
    ),
    "txn_offset_commit.TxnOffsetCommitRequestTopic": "name partitions",
    "txn_offset_commit.TxnOffsetCommitResponse": "throttle_time topics",
    "txn_offset_commit.TxnOffsetCommitResponsePartition": "error_code partition_index",
    "txn_offset_commit.TxnOffsetCommitResponseTopic": "name partitions",
    "update_features.FeatureUpdateKey": "allow_downgrade feature max_version_level upgrade_type",
    "update_features.UpdatableFeatureResult": "error_code error_message feature",
    "update_features.UpdateFeaturesRequest": "feature_updates timeout validate_only",
    "update_features.UpdateFeaturesResponse": "error_code error_message results throttle_time",
    "write_txn_markers.WritableTxnMarker": (
        "coordinator_epoch producer_epoch producer_id topics transaction_result transaction_version"
    ),
    "write_txn_markers.WritableTxnMarkerPartitionResult": "error_code partition_index",
    "write_txn_markers.WritableTxnMarkerResult": "producer_id topics",
    "write_txn_markers.WritableTxnMarkerTopic": "name partition_indexes",
    "write_txn_markers.WritableTxnMarkerTopicResult": "name partitions",
    "write_txn_markers.WriteTxnMarkersRequest": "markers",
    "write_txn_markers.WriteTxnMarkersResponse": "markers",
}
