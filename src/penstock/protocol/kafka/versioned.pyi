"""Fields that not every version of an entity has. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal, TypeVar, overload
from uuid import UUID

from kio.schema.errors import ErrorCode

from penstock.protocol.kafka.replies import add_partitions_to_txn as add_partitions_to_txn_replies
from penstock.protocol.kafka.replies import alter_partition_reassignments as alter_partition_reassignments_replies
from penstock.protocol.kafka.replies import api_versions as api_versions_replies
from penstock.protocol.kafka.replies import create_topics as create_topics_replies
from penstock.protocol.kafka.replies import delete_topics as delete_topics_replies
from penstock.protocol.kafka.replies import describe_cluster as describe_cluster_replies
from penstock.protocol.kafka.replies import describe_configs as describe_configs_replies
from penstock.protocol.kafka.replies import describe_groups as describe_groups_replies
from penstock.protocol.kafka.replies import describe_log_dirs as describe_log_dirs_replies
from penstock.protocol.kafka.replies import describe_quorum as describe_quorum_replies
from penstock.protocol.kafka.replies import elect_leaders as elect_leaders_replies
from penstock.protocol.kafka.replies import end_txn as end_txn_replies
from penstock.protocol.kafka.replies import fetch as fetch_replies
from penstock.protocol.kafka.replies import find_coordinator as find_coordinator_replies
from penstock.protocol.kafka.replies import heartbeat as heartbeat_replies
from penstock.protocol.kafka.replies import init_producer_id as init_producer_id_replies
from penstock.protocol.kafka.replies import join_group as join_group_replies
from penstock.protocol.kafka.replies import leave_group as leave_group_replies
from penstock.protocol.kafka.replies import list_config_resources as list_config_resources_replies
from penstock.protocol.kafka.replies import list_groups as list_groups_replies
from penstock.protocol.kafka.replies import list_offsets as list_offsets_replies
from penstock.protocol.kafka.replies import metadata as metadata_replies
from penstock.protocol.kafka.replies import offset_commit as offset_commit_replies
from penstock.protocol.kafka.replies import offset_fetch as offset_fetch_replies
from penstock.protocol.kafka.replies import produce as produce_replies
from penstock.protocol.kafka.replies import sasl_authenticate as sasl_authenticate_replies
from penstock.protocol.kafka.replies import sync_group as sync_group_replies
from penstock.protocol.kafka.replies import update_features as update_features_replies
from penstock.protocol.kafka.requests import add_partitions_to_txn as add_partitions_to_txn_requests
from penstock.protocol.kafka.requests import alter_partition_reassignments as alter_partition_reassignments_requests
from penstock.protocol.kafka.requests import api_versions as api_versions_requests
from penstock.protocol.kafka.requests import delete_topics as delete_topics_requests
from penstock.protocol.kafka.requests import describe_cluster as describe_cluster_requests
from penstock.protocol.kafka.requests import describe_configs as describe_configs_requests
from penstock.protocol.kafka.requests import describe_groups as describe_groups_requests
from penstock.protocol.kafka.requests import elect_leaders as elect_leaders_requests
from penstock.protocol.kafka.requests import fetch as fetch_requests
from penstock.protocol.kafka.requests import find_coordinator as find_coordinator_requests
from penstock.protocol.kafka.requests import heartbeat as heartbeat_requests
from penstock.protocol.kafka.requests import init_producer_id as init_producer_id_requests
from penstock.protocol.kafka.requests import join_group as join_group_requests
from penstock.protocol.kafka.requests import leave_group as leave_group_requests
from penstock.protocol.kafka.requests import list_config_resources as list_config_resources_requests
from penstock.protocol.kafka.requests import list_groups as list_groups_requests
from penstock.protocol.kafka.requests import list_offsets as list_offsets_requests
from penstock.protocol.kafka.requests import list_transactions as list_transactions_requests
from penstock.protocol.kafka.requests import metadata as metadata_requests
from penstock.protocol.kafka.requests import offset_commit as offset_commit_requests
from penstock.protocol.kafka.requests import offset_fetch as offset_fetch_requests
from penstock.protocol.kafka.requests import offset_for_leader_epoch as offset_for_leader_epoch_requests
from penstock.protocol.kafka.requests import produce as produce_requests
from penstock.protocol.kafka.requests import sync_group as sync_group_requests
from penstock.protocol.kafka.requests import txn_offset_commit as txn_offset_commit_requests
from penstock.protocol.kafka.requests import update_features as update_features_requests
from penstock.protocol.kafka.requests import write_txn_markers as write_txn_markers_requests

D = TypeVar("D")

@overload
def field(
    entity: produce_requests.TopicProduceData,
    name: Literal["name"],
) -> str | None: ...
@overload
def field(
    entity: produce_requests.TopicProduceData,
    name: Literal["name"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: produce_requests.TopicProduceData,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: produce_requests.TopicProduceData,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["log_start_offset"],
) -> int | None: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["log_start_offset"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["record_errors"],
) -> tuple[produce_replies.BatchIndexAndErrorMessage, ...] | None: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["record_errors"],
    default: D,
) -> tuple[produce_replies.BatchIndexAndErrorMessage, ...] | D: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["error_message"],
) -> str | None: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["error_message"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["current_leader"],
) -> produce_replies.LeaderIdAndEpoch | None: ...
@overload
def field(
    entity: produce_replies.PartitionProduceResponse,
    name: Literal["current_leader"],
    default: D,
) -> produce_replies.LeaderIdAndEpoch | D: ...
@overload
def field(
    entity: produce_replies.TopicProduceResponse,
    name: Literal["name"],
) -> str | None: ...
@overload
def field(
    entity: produce_replies.TopicProduceResponse,
    name: Literal["name"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: produce_replies.TopicProduceResponse,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: produce_replies.TopicProduceResponse,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: produce_replies.ProduceResponse,
    name: Literal["node_endpoints"],
) -> tuple[produce_replies.NodeEndpoint, ...] | None: ...
@overload
def field(
    entity: produce_replies.ProduceResponse,
    name: Literal["node_endpoints"],
    default: D,
) -> tuple[produce_replies.NodeEndpoint, ...] | D: ...
@overload
def field(
    entity: fetch_requests.FetchPartition,
    name: Literal["current_leader_epoch", "log_start_offset", "last_fetched_epoch", "high_watermark"],
) -> int | None: ...
@overload
def field(
    entity: fetch_requests.FetchPartition,
    name: Literal["current_leader_epoch", "log_start_offset", "last_fetched_epoch", "high_watermark"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: fetch_requests.FetchPartition,
    name: Literal["replica_directory_id"],
) -> UUID | None: ...
@overload
def field(
    entity: fetch_requests.FetchPartition,
    name: Literal["replica_directory_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: fetch_requests.FetchTopic,
    name: Literal["topic"],
) -> str | None: ...
@overload
def field(
    entity: fetch_requests.FetchTopic,
    name: Literal["topic"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: fetch_requests.FetchTopic,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: fetch_requests.FetchTopic,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: fetch_requests.ForgottenTopic,
    name: Literal["topic"],
) -> str | None: ...
@overload
def field(
    entity: fetch_requests.ForgottenTopic,
    name: Literal["topic"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: fetch_requests.ForgottenTopic,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: fetch_requests.ForgottenTopic,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["replica_id", "session_id", "session_epoch"],
) -> int | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["replica_id", "session_id", "session_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["forgotten_topics_data"],
) -> tuple[fetch_requests.ForgottenTopic, ...] | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["forgotten_topics_data"],
    default: D,
) -> tuple[fetch_requests.ForgottenTopic, ...] | D: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["rack_id"],
) -> str | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["rack_id"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["cluster_id"],
) -> str | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["cluster_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["replica_state"],
) -> fetch_requests.ReplicaState | None: ...
@overload
def field(
    entity: fetch_requests.FetchRequest,
    name: Literal["replica_state"],
    default: D,
) -> fetch_requests.ReplicaState | D: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["log_start_offset", "preferred_read_replica"],
) -> int | None: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["log_start_offset", "preferred_read_replica"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["diverging_epoch"],
) -> fetch_replies.EpochEndOffset | None: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["diverging_epoch"],
    default: D,
) -> fetch_replies.EpochEndOffset | D: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["current_leader"],
) -> fetch_replies.LeaderIdAndEpoch | None: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["current_leader"],
    default: D,
) -> fetch_replies.LeaderIdAndEpoch | D: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["snapshot_id"],
) -> fetch_replies.SnapshotId | None: ...
@overload
def field(
    entity: fetch_replies.PartitionData,
    name: Literal["snapshot_id"],
    default: D,
) -> fetch_replies.SnapshotId | D: ...
@overload
def field(
    entity: fetch_replies.FetchableTopicResponse,
    name: Literal["topic"],
) -> str | None: ...
@overload
def field(
    entity: fetch_replies.FetchableTopicResponse,
    name: Literal["topic"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: fetch_replies.FetchableTopicResponse,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: fetch_replies.FetchableTopicResponse,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: fetch_replies.FetchResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: fetch_replies.FetchResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: fetch_replies.FetchResponse,
    name: Literal["session_id"],
) -> int | None: ...
@overload
def field(
    entity: fetch_replies.FetchResponse,
    name: Literal["session_id"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: fetch_replies.FetchResponse,
    name: Literal["node_endpoints"],
) -> tuple[fetch_replies.NodeEndpoint, ...] | None: ...
@overload
def field(
    entity: fetch_replies.FetchResponse,
    name: Literal["node_endpoints"],
    default: D,
) -> tuple[fetch_replies.NodeEndpoint, ...] | D: ...
@overload
def field(
    entity: list_offsets_requests.ListOffsetsPartition,
    name: Literal["current_leader_epoch"],
) -> int | None: ...
@overload
def field(
    entity: list_offsets_requests.ListOffsetsPartition,
    name: Literal["current_leader_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: list_offsets_requests.ListOffsetsRequest,
    name: Literal["isolation_level"],
) -> int | None: ...
@overload
def field(
    entity: list_offsets_requests.ListOffsetsRequest,
    name: Literal["isolation_level"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: list_offsets_requests.ListOffsetsRequest,
    name: Literal["timeout"],
) -> timedelta | None: ...
@overload
def field(
    entity: list_offsets_requests.ListOffsetsRequest,
    name: Literal["timeout"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: list_offsets_replies.ListOffsetsPartitionResponse,
    name: Literal["leader_epoch"],
) -> int | None: ...
@overload
def field(
    entity: list_offsets_replies.ListOffsetsPartitionResponse,
    name: Literal["leader_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: list_offsets_replies.ListOffsetsResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: list_offsets_replies.ListOffsetsResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: metadata_requests.MetadataRequestTopic,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: metadata_requests.MetadataRequestTopic,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: metadata_requests.MetadataRequest,
    name: Literal["allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations"],
) -> bool | None: ...
@overload
def field(
    entity: metadata_requests.MetadataRequest,
    name: Literal["allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseBroker,
    name: Literal["rack"],
) -> str | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseBroker,
    name: Literal["rack"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponsePartition,
    name: Literal["leader_epoch"],
) -> int | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponsePartition,
    name: Literal["leader_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponsePartition,
    name: Literal["offline_replicas"],
) -> tuple[int, ...] | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponsePartition,
    name: Literal["offline_replicas"],
    default: D,
) -> tuple[int, ...] | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseTopic,
    name: Literal["is_internal"],
) -> bool | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseTopic,
    name: Literal["is_internal"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseTopic,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseTopic,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseTopic,
    name: Literal["topic_authorized_operations"],
) -> int | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponseTopic,
    name: Literal["topic_authorized_operations"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["controller_id", "cluster_authorized_operations"],
) -> int | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["controller_id", "cluster_authorized_operations"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["cluster_id"],
) -> str | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["cluster_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: metadata_replies.MetadataResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequestPartition,
    name: Literal["committed_leader_epoch"],
) -> int | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequestPartition,
    name: Literal["committed_leader_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequestTopic,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequestTopic,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequestTopic,
    name: Literal["name"],
) -> str | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequestTopic,
    name: Literal["name"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequest,
    name: Literal["group_instance_id"],
) -> str | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequest,
    name: Literal["group_instance_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequest,
    name: Literal["retention_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: offset_commit_requests.OffsetCommitRequest,
    name: Literal["retention_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: offset_commit_replies.OffsetCommitResponseTopic,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: offset_commit_replies.OffsetCommitResponseTopic,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: offset_commit_replies.OffsetCommitResponseTopic,
    name: Literal["name"],
) -> str | None: ...
@overload
def field(
    entity: offset_commit_replies.OffsetCommitResponseTopic,
    name: Literal["name"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: offset_commit_replies.OffsetCommitResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: offset_commit_replies.OffsetCommitResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["group_id"],
) -> str | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["group_id"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["topics"],
) -> tuple[offset_fetch_requests.OffsetFetchRequestTopic, ...] | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["topics"],
    default: D,
) -> tuple[offset_fetch_requests.OffsetFetchRequestTopic, ...] | D | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["groups"],
) -> tuple[offset_fetch_requests.OffsetFetchRequestGroup, ...] | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["groups"],
    default: D,
) -> tuple[offset_fetch_requests.OffsetFetchRequestGroup, ...] | D: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["require_stable"],
) -> bool | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequest,
    name: Literal["require_stable"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestTopics,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestTopics,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestTopics,
    name: Literal["name"],
) -> str | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestTopics,
    name: Literal["name"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestGroup,
    name: Literal["member_id"],
) -> str | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestGroup,
    name: Literal["member_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestGroup,
    name: Literal["member_epoch"],
) -> int | None: ...
@overload
def field(
    entity: offset_fetch_requests.OffsetFetchRequestGroup,
    name: Literal["member_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponsePartition,
    name: Literal["committed_leader_epoch"],
) -> int | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponsePartition,
    name: Literal["committed_leader_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["topics"],
) -> tuple[offset_fetch_replies.OffsetFetchResponseTopic, ...] | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["topics"],
    default: D,
) -> tuple[offset_fetch_replies.OffsetFetchResponseTopic, ...] | D: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["groups"],
) -> tuple[offset_fetch_replies.OffsetFetchResponseGroup, ...] | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["groups"],
    default: D,
) -> tuple[offset_fetch_replies.OffsetFetchResponseGroup, ...] | D: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponseTopics,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponseTopics,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponseTopics,
    name: Literal["name"],
) -> str | None: ...
@overload
def field(
    entity: offset_fetch_replies.OffsetFetchResponseTopics,
    name: Literal["name"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: find_coordinator_requests.FindCoordinatorRequest,
    name: Literal["key"],
) -> str | None: ...
@overload
def field(
    entity: find_coordinator_requests.FindCoordinatorRequest,
    name: Literal["key"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: find_coordinator_requests.FindCoordinatorRequest,
    name: Literal["key_type"],
) -> int | None: ...
@overload
def field(
    entity: find_coordinator_requests.FindCoordinatorRequest,
    name: Literal["key_type"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: find_coordinator_requests.FindCoordinatorRequest,
    name: Literal["coordinator_keys"],
) -> tuple[str, ...] | None: ...
@overload
def field(
    entity: find_coordinator_requests.FindCoordinatorRequest,
    name: Literal["coordinator_keys"],
    default: D,
) -> tuple[str, ...] | D: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["node_id", "port"],
) -> int | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["node_id", "port"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["host"],
) -> str | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["host"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["error_message"],
) -> str | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["error_message"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["coordinators"],
) -> tuple[find_coordinator_replies.Coordinator, ...] | None: ...
@overload
def field(
    entity: find_coordinator_replies.FindCoordinatorResponse,
    name: Literal["coordinators"],
    default: D,
) -> tuple[find_coordinator_replies.Coordinator, ...] | D: ...
@overload
def field(
    entity: join_group_requests.JoinGroupRequest,
    name: Literal["rebalance_timeout"],
) -> timedelta | None: ...
@overload
def field(
    entity: join_group_requests.JoinGroupRequest,
    name: Literal["rebalance_timeout"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: join_group_requests.JoinGroupRequest,
    name: Literal["group_instance_id", "reason"],
) -> str | None: ...
@overload
def field(
    entity: join_group_requests.JoinGroupRequest,
    name: Literal["group_instance_id", "reason"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponseMember,
    name: Literal["group_instance_id"],
) -> str | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponseMember,
    name: Literal["group_instance_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponse,
    name: Literal["protocol_type"],
) -> str | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponse,
    name: Literal["protocol_type"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponse,
    name: Literal["skip_assignment"],
) -> bool | None: ...
@overload
def field(
    entity: join_group_replies.JoinGroupResponse,
    name: Literal["skip_assignment"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: heartbeat_requests.HeartbeatRequest,
    name: Literal["group_instance_id"],
) -> str | None: ...
@overload
def field(
    entity: heartbeat_requests.HeartbeatRequest,
    name: Literal["group_instance_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: heartbeat_replies.HeartbeatResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: heartbeat_replies.HeartbeatResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: leave_group_requests.LeaveGroupRequest,
    name: Literal["member_id"],
) -> str | None: ...
@overload
def field(
    entity: leave_group_requests.LeaveGroupRequest,
    name: Literal["member_id"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: leave_group_requests.LeaveGroupRequest,
    name: Literal["members"],
) -> tuple[leave_group_requests.MemberIdentity, ...] | None: ...
@overload
def field(
    entity: leave_group_requests.LeaveGroupRequest,
    name: Literal["members"],
    default: D,
) -> tuple[leave_group_requests.MemberIdentity, ...] | D: ...
@overload
def field(
    entity: leave_group_requests.MemberIdentity,
    name: Literal["reason"],
) -> str | None: ...
@overload
def field(
    entity: leave_group_requests.MemberIdentity,
    name: Literal["reason"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: leave_group_replies.LeaveGroupResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: leave_group_replies.LeaveGroupResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: leave_group_replies.LeaveGroupResponse,
    name: Literal["members"],
) -> tuple[leave_group_replies.MemberResponse, ...] | None: ...
@overload
def field(
    entity: leave_group_replies.LeaveGroupResponse,
    name: Literal["members"],
    default: D,
) -> tuple[leave_group_replies.MemberResponse, ...] | D: ...
@overload
def field(
    entity: sync_group_requests.SyncGroupRequest,
    name: Literal["group_instance_id", "protocol_type", "protocol_name"],
) -> str | None: ...
@overload
def field(
    entity: sync_group_requests.SyncGroupRequest,
    name: Literal["group_instance_id", "protocol_type", "protocol_name"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: sync_group_replies.SyncGroupResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: sync_group_replies.SyncGroupResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: sync_group_replies.SyncGroupResponse,
    name: Literal["protocol_type", "protocol_name"],
) -> str | None: ...
@overload
def field(
    entity: sync_group_replies.SyncGroupResponse,
    name: Literal["protocol_type", "protocol_name"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_groups_requests.DescribeGroupsRequest,
    name: Literal["include_authorized_operations"],
) -> bool | None: ...
@overload
def field(
    entity: describe_groups_requests.DescribeGroupsRequest,
    name: Literal["include_authorized_operations"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: describe_groups_replies.DescribedGroupMember,
    name: Literal["group_instance_id"],
) -> str | None: ...
@overload
def field(
    entity: describe_groups_replies.DescribedGroupMember,
    name: Literal["group_instance_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_groups_replies.DescribedGroup,
    name: Literal["authorized_operations"],
) -> int | None: ...
@overload
def field(
    entity: describe_groups_replies.DescribedGroup,
    name: Literal["authorized_operations"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: describe_groups_replies.DescribedGroup,
    name: Literal["error_message"],
) -> str | None: ...
@overload
def field(
    entity: describe_groups_replies.DescribedGroup,
    name: Literal["error_message"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_groups_replies.DescribeGroupsResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: describe_groups_replies.DescribeGroupsResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: list_groups_requests.ListGroupsRequest,
    name: Literal["states_filter", "types_filter"],
) -> tuple[str, ...] | None: ...
@overload
def field(
    entity: list_groups_requests.ListGroupsRequest,
    name: Literal["states_filter", "types_filter"],
    default: D,
) -> tuple[str, ...] | D: ...
@overload
def field(
    entity: list_groups_replies.ListedGroup,
    name: Literal["group_state", "group_type"],
) -> str | None: ...
@overload
def field(
    entity: list_groups_replies.ListedGroup,
    name: Literal["group_state", "group_type"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: list_groups_replies.ListGroupsResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: list_groups_replies.ListGroupsResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: api_versions_requests.ApiVersionsRequest,
    name: Literal["client_software_name", "client_software_version"],
) -> str | None: ...
@overload
def field(
    entity: api_versions_requests.ApiVersionsRequest,
    name: Literal["client_software_name", "client_software_version"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["throttle_time"],
) -> timedelta | None: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["throttle_time"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["supported_features"],
) -> tuple[api_versions_replies.SupportedFeatureKey, ...] | None: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["supported_features"],
    default: D,
) -> tuple[api_versions_replies.SupportedFeatureKey, ...] | D: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["finalized_features_epoch"],
) -> int | None: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["finalized_features_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["finalized_features"],
) -> tuple[api_versions_replies.FinalizedFeatureKey, ...] | None: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["finalized_features"],
    default: D,
) -> tuple[api_versions_replies.FinalizedFeatureKey, ...] | D: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["zk_migration_ready"],
) -> bool | None: ...
@overload
def field(
    entity: api_versions_replies.ApiVersionsResponse,
    name: Literal["zk_migration_ready"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: create_topics_replies.CreatableTopicResult,
    name: Literal["topic_config_error_code", "num_partitions", "replication_factor"],
) -> int | None: ...
@overload
def field(
    entity: create_topics_replies.CreatableTopicResult,
    name: Literal["topic_config_error_code", "num_partitions", "replication_factor"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: create_topics_replies.CreatableTopicResult,
    name: Literal["configs"],
) -> tuple[create_topics_replies.CreatableTopicConfigs, ...] | None: ...
@overload
def field(
    entity: create_topics_replies.CreatableTopicResult,
    name: Literal["configs"],
    default: D,
) -> tuple[create_topics_replies.CreatableTopicConfigs, ...] | D | None: ...
@overload
def field(
    entity: create_topics_replies.CreatableTopicResult,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: create_topics_replies.CreatableTopicResult,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: delete_topics_requests.DeleteTopicsRequest,
    name: Literal["topic_names"],
) -> tuple[str, ...] | None: ...
@overload
def field(
    entity: delete_topics_requests.DeleteTopicsRequest,
    name: Literal["topic_names"],
    default: D,
) -> tuple[str, ...] | D: ...
@overload
def field(
    entity: delete_topics_requests.DeleteTopicsRequest,
    name: Literal["topics"],
) -> tuple[delete_topics_requests.DeleteTopicState, ...] | None: ...
@overload
def field(
    entity: delete_topics_requests.DeleteTopicsRequest,
    name: Literal["topics"],
    default: D,
) -> tuple[delete_topics_requests.DeleteTopicState, ...] | D: ...
@overload
def field(
    entity: delete_topics_replies.DeletableTopicResult,
    name: Literal["error_message"],
) -> str | None: ...
@overload
def field(
    entity: delete_topics_replies.DeletableTopicResult,
    name: Literal["error_message"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: delete_topics_replies.DeletableTopicResult,
    name: Literal["topic_id"],
) -> UUID | None: ...
@overload
def field(
    entity: delete_topics_replies.DeletableTopicResult,
    name: Literal["topic_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: init_producer_id_requests.InitProducerIdRequest,
    name: Literal["producer_id", "producer_epoch"],
) -> int | None: ...
@overload
def field(
    entity: init_producer_id_requests.InitProducerIdRequest,
    name: Literal["producer_id", "producer_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: init_producer_id_requests.InitProducerIdRequest,
    name: Literal["enable2_pc", "keep_prepared_txn"],
) -> bool | None: ...
@overload
def field(
    entity: init_producer_id_requests.InitProducerIdRequest,
    name: Literal["enable2_pc", "keep_prepared_txn"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: init_producer_id_replies.InitProducerIdResponse,
    name: Literal["ongoing_txn_producer_id", "ongoing_txn_producer_epoch"],
) -> int | None: ...
@overload
def field(
    entity: init_producer_id_replies.InitProducerIdResponse,
    name: Literal["ongoing_txn_producer_id", "ongoing_txn_producer_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: offset_for_leader_epoch_requests.OffsetForLeaderEpochRequest,
    name: Literal["replica_id"],
) -> int | None: ...
@overload
def field(
    entity: offset_for_leader_epoch_requests.OffsetForLeaderEpochRequest,
    name: Literal["replica_id"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["v3_and_below_transactional_id"],
) -> str | None: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["v3_and_below_transactional_id"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["v3_and_below_producer_id", "v3_and_below_producer_epoch"],
) -> int | None: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["v3_and_below_producer_id", "v3_and_below_producer_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["v3_and_below_topics"],
) -> tuple[add_partitions_to_txn_requests.AddPartitionsToTxnTopic, ...] | None: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["v3_and_below_topics"],
    default: D,
) -> tuple[add_partitions_to_txn_requests.AddPartitionsToTxnTopic, ...] | D: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["transactions"],
) -> tuple[add_partitions_to_txn_requests.AddPartitionsToTxnTransaction, ...] | None: ...
@overload
def field(
    entity: add_partitions_to_txn_requests.AddPartitionsToTxnRequest,
    name: Literal["transactions"],
    default: D,
) -> tuple[add_partitions_to_txn_requests.AddPartitionsToTxnTransaction, ...] | D: ...
@overload
def field(
    entity: add_partitions_to_txn_replies.AddPartitionsToTxnResponse,
    name: Literal["results_by_topic_v3_and_below"],
) -> tuple[add_partitions_to_txn_replies.AddPartitionsToTxnTopicResult, ...] | None: ...
@overload
def field(
    entity: add_partitions_to_txn_replies.AddPartitionsToTxnResponse,
    name: Literal["results_by_topic_v3_and_below"],
    default: D,
) -> tuple[add_partitions_to_txn_replies.AddPartitionsToTxnTopicResult, ...] | D: ...
@overload
def field(
    entity: add_partitions_to_txn_replies.AddPartitionsToTxnResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: add_partitions_to_txn_replies.AddPartitionsToTxnResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: add_partitions_to_txn_replies.AddPartitionsToTxnResponse,
    name: Literal["results_by_transaction"],
) -> tuple[add_partitions_to_txn_replies.AddPartitionsToTxnResult, ...] | None: ...
@overload
def field(
    entity: add_partitions_to_txn_replies.AddPartitionsToTxnResponse,
    name: Literal["results_by_transaction"],
    default: D,
) -> tuple[add_partitions_to_txn_replies.AddPartitionsToTxnResult, ...] | D: ...
@overload
def field(
    entity: end_txn_replies.EndTxnResponse,
    name: Literal["producer_id", "producer_epoch"],
) -> int | None: ...
@overload
def field(
    entity: end_txn_replies.EndTxnResponse,
    name: Literal["producer_id", "producer_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: write_txn_markers_requests.WritableTxnMarker,
    name: Literal["transaction_version"],
) -> int | None: ...
@overload
def field(
    entity: write_txn_markers_requests.WritableTxnMarker,
    name: Literal["transaction_version"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequestPartition,
    name: Literal["committed_leader_epoch"],
) -> int | None: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequestPartition,
    name: Literal["committed_leader_epoch"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequest,
    name: Literal["generation_id"],
) -> int | None: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequest,
    name: Literal["generation_id"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequest,
    name: Literal["member_id"],
) -> str | None: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequest,
    name: Literal["member_id"],
    default: D,
) -> str | D: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequest,
    name: Literal["group_instance_id"],
) -> str | None: ...
@overload
def field(
    entity: txn_offset_commit_requests.TxnOffsetCommitRequest,
    name: Literal["group_instance_id"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_configs_requests.DescribeConfigsRequest,
    name: Literal["include_documentation"],
) -> bool | None: ...
@overload
def field(
    entity: describe_configs_requests.DescribeConfigsRequest,
    name: Literal["include_documentation"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: describe_configs_replies.DescribeConfigsResourceResult,
    name: Literal["config_type"],
) -> int | None: ...
@overload
def field(
    entity: describe_configs_replies.DescribeConfigsResourceResult,
    name: Literal["config_type"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: describe_configs_replies.DescribeConfigsResourceResult,
    name: Literal["documentation"],
) -> str | None: ...
@overload
def field(
    entity: describe_configs_replies.DescribeConfigsResourceResult,
    name: Literal["documentation"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_log_dirs_replies.DescribeLogDirsResult,
    name: Literal["total_bytes", "usable_bytes"],
) -> int | None: ...
@overload
def field(
    entity: describe_log_dirs_replies.DescribeLogDirsResult,
    name: Literal["total_bytes", "usable_bytes"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: describe_log_dirs_replies.DescribeLogDirsResult,
    name: Literal["is_cordoned"],
) -> bool | None: ...
@overload
def field(
    entity: describe_log_dirs_replies.DescribeLogDirsResult,
    name: Literal["is_cordoned"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: describe_log_dirs_replies.DescribeLogDirsResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: describe_log_dirs_replies.DescribeLogDirsResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: sasl_authenticate_replies.SaslAuthenticateResponse,
    name: Literal["session_lifetime"],
) -> timedelta | None: ...
@overload
def field(
    entity: sasl_authenticate_replies.SaslAuthenticateResponse,
    name: Literal["session_lifetime"],
    default: D,
) -> timedelta | D: ...
@overload
def field(
    entity: elect_leaders_requests.ElectLeadersRequest,
    name: Literal["election_type"],
) -> int | None: ...
@overload
def field(
    entity: elect_leaders_requests.ElectLeadersRequest,
    name: Literal["election_type"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: elect_leaders_replies.ElectLeadersResponse,
    name: Literal["error_code"],
) -> ErrorCode | None: ...
@overload
def field(
    entity: elect_leaders_replies.ElectLeadersResponse,
    name: Literal["error_code"],
    default: D,
) -> ErrorCode | D: ...
@overload
def field(
    entity: alter_partition_reassignments_requests.AlterPartitionReassignmentsRequest,
    name: Literal["allow_replication_factor_change"],
) -> bool | None: ...
@overload
def field(
    entity: alter_partition_reassignments_requests.AlterPartitionReassignmentsRequest,
    name: Literal["allow_replication_factor_change"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: alter_partition_reassignments_replies.AlterPartitionReassignmentsResponse,
    name: Literal["allow_replication_factor_change"],
) -> bool | None: ...
@overload
def field(
    entity: alter_partition_reassignments_replies.AlterPartitionReassignmentsResponse,
    name: Literal["allow_replication_factor_change"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: describe_quorum_replies.ReplicaState,
    name: Literal["last_fetch_timestamp", "last_caught_up_timestamp"],
) -> int | None: ...
@overload
def field(
    entity: describe_quorum_replies.ReplicaState,
    name: Literal["last_fetch_timestamp", "last_caught_up_timestamp"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: describe_quorum_replies.ReplicaState,
    name: Literal["replica_directory_id"],
) -> UUID | None: ...
@overload
def field(
    entity: describe_quorum_replies.ReplicaState,
    name: Literal["replica_directory_id"],
    default: D,
) -> UUID | D | None: ...
@overload
def field(
    entity: describe_quorum_replies.PartitionData,
    name: Literal["error_message"],
) -> str | None: ...
@overload
def field(
    entity: describe_quorum_replies.PartitionData,
    name: Literal["error_message"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_quorum_replies.DescribeQuorumResponse,
    name: Literal["error_message"],
) -> str | None: ...
@overload
def field(
    entity: describe_quorum_replies.DescribeQuorumResponse,
    name: Literal["error_message"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: describe_quorum_replies.DescribeQuorumResponse,
    name: Literal["nodes"],
) -> tuple[describe_quorum_replies.Node, ...] | None: ...
@overload
def field(
    entity: describe_quorum_replies.DescribeQuorumResponse,
    name: Literal["nodes"],
    default: D,
) -> tuple[describe_quorum_replies.Node, ...] | D: ...
@overload
def field(
    entity: update_features_requests.FeatureUpdateKey,
    name: Literal["allow_downgrade"],
) -> bool | None: ...
@overload
def field(
    entity: update_features_requests.FeatureUpdateKey,
    name: Literal["allow_downgrade"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: update_features_requests.FeatureUpdateKey,
    name: Literal["upgrade_type"],
) -> int | None: ...
@overload
def field(
    entity: update_features_requests.FeatureUpdateKey,
    name: Literal["upgrade_type"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: update_features_requests.UpdateFeaturesRequest,
    name: Literal["validate_only"],
) -> bool | None: ...
@overload
def field(
    entity: update_features_requests.UpdateFeaturesRequest,
    name: Literal["validate_only"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: update_features_replies.UpdateFeaturesResponse,
    name: Literal["results"],
) -> tuple[update_features_replies.UpdatableFeatureResult, ...] | None: ...
@overload
def field(
    entity: update_features_replies.UpdateFeaturesResponse,
    name: Literal["results"],
    default: D,
) -> tuple[update_features_replies.UpdatableFeatureResult, ...] | D: ...
@overload
def field(
    entity: describe_cluster_requests.DescribeClusterRequest,
    name: Literal["endpoint_type"],
) -> int | None: ...
@overload
def field(
    entity: describe_cluster_requests.DescribeClusterRequest,
    name: Literal["endpoint_type"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: describe_cluster_requests.DescribeClusterRequest,
    name: Literal["include_fenced_brokers"],
) -> bool | None: ...
@overload
def field(
    entity: describe_cluster_requests.DescribeClusterRequest,
    name: Literal["include_fenced_brokers"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: describe_cluster_replies.DescribeClusterBroker,
    name: Literal["is_fenced"],
) -> bool | None: ...
@overload
def field(
    entity: describe_cluster_replies.DescribeClusterBroker,
    name: Literal["is_fenced"],
    default: D,
) -> bool | D: ...
@overload
def field(
    entity: describe_cluster_replies.DescribeClusterResponse,
    name: Literal["endpoint_type"],
) -> int | None: ...
@overload
def field(
    entity: describe_cluster_replies.DescribeClusterResponse,
    name: Literal["endpoint_type"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: list_transactions_requests.ListTransactionsRequest,
    name: Literal["duration_filter"],
) -> int | None: ...
@overload
def field(
    entity: list_transactions_requests.ListTransactionsRequest,
    name: Literal["duration_filter"],
    default: D,
) -> int | D: ...
@overload
def field(
    entity: list_transactions_requests.ListTransactionsRequest,
    name: Literal["transactional_id_pattern"],
) -> str | None: ...
@overload
def field(
    entity: list_transactions_requests.ListTransactionsRequest,
    name: Literal["transactional_id_pattern"],
    default: D,
) -> str | D | None: ...
@overload
def field(
    entity: list_config_resources_requests.ListConfigResourcesRequest,
    name: Literal["resource_types"],
) -> tuple[int, ...] | None: ...
@overload
def field(
    entity: list_config_resources_requests.ListConfigResourcesRequest,
    name: Literal["resource_types"],
    default: D,
) -> tuple[int, ...] | D: ...
@overload
def field(
    entity: list_config_resources_replies.ConfigResource,
    name: Literal["resource_type"],
) -> int | None: ...
@overload
def field(
    entity: list_config_resources_replies.ConfigResource,
    name: Literal["resource_type"],
    default: D,
) -> int | D: ...
