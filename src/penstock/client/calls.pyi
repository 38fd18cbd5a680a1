"""Calls with the values of requests and the fields of replies. Made by `python -m tools.wire_types`; do not edit."""

from abc import ABC, abstractmethod
from typing import Literal, Unpack, overload

from penstock.protocol.kafka.replies.add_offsets_to_txn import AddOffsetsToTxnResponse
from penstock.protocol.kafka.replies.add_partitions_to_txn import AddPartitionsToTxnResponse
from penstock.protocol.kafka.replies.alter_client_quotas import AlterClientQuotasResponse
from penstock.protocol.kafka.replies.alter_configs import AlterConfigsResponse
from penstock.protocol.kafka.replies.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from penstock.protocol.kafka.replies.alter_replica_log_dirs import AlterReplicaLogDirsResponse
from penstock.protocol.kafka.replies.alter_user_scram_credentials import AlterUserScramCredentialsResponse
from penstock.protocol.kafka.replies.api_versions import ApiVersionsResponse
from penstock.protocol.kafka.replies.create_acls import CreateAclsResponse
from penstock.protocol.kafka.replies.create_partitions import CreatePartitionsResponse
from penstock.protocol.kafka.replies.create_topics import CreateTopicsResponse
from penstock.protocol.kafka.replies.delete_acls import DeleteAclsResponse
from penstock.protocol.kafka.replies.delete_groups import DeleteGroupsResponse
from penstock.protocol.kafka.replies.delete_records import DeleteRecordsResponse
from penstock.protocol.kafka.replies.delete_topics import DeleteTopicsResponse
from penstock.protocol.kafka.replies.describe_acls import DescribeAclsResponse
from penstock.protocol.kafka.replies.describe_client_quotas import DescribeClientQuotasResponse
from penstock.protocol.kafka.replies.describe_cluster import DescribeClusterResponse
from penstock.protocol.kafka.replies.describe_configs import DescribeConfigsResponse
from penstock.protocol.kafka.replies.describe_groups import DescribeGroupsResponse
from penstock.protocol.kafka.replies.describe_log_dirs import DescribeLogDirsResponse
from penstock.protocol.kafka.replies.describe_producers import DescribeProducersResponse
from penstock.protocol.kafka.replies.describe_quorum import DescribeQuorumResponse
from penstock.protocol.kafka.replies.describe_topic_partitions import DescribeTopicPartitionsResponse
from penstock.protocol.kafka.replies.describe_transactions import DescribeTransactionsResponse
from penstock.protocol.kafka.replies.describe_user_scram_credentials import DescribeUserScramCredentialsResponse
from penstock.protocol.kafka.replies.elect_leaders import ElectLeadersResponse
from penstock.protocol.kafka.replies.end_txn import EndTxnResponse
from penstock.protocol.kafka.replies.fetch import FetchResponse
from penstock.protocol.kafka.replies.find_coordinator import FindCoordinatorResponse
from penstock.protocol.kafka.replies.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse
from penstock.protocol.kafka.replies.heartbeat import HeartbeatResponse
from penstock.protocol.kafka.replies.incremental_alter_configs import IncrementalAlterConfigsResponse
from penstock.protocol.kafka.replies.init_producer_id import InitProducerIdResponse
from penstock.protocol.kafka.replies.join_group import JoinGroupResponse
from penstock.protocol.kafka.replies.leave_group import LeaveGroupResponse
from penstock.protocol.kafka.replies.list_config_resources import ListConfigResourcesResponse
from penstock.protocol.kafka.replies.list_groups import ListGroupsResponse
from penstock.protocol.kafka.replies.list_offsets import ListOffsetsResponse
from penstock.protocol.kafka.replies.list_partition_reassignments import ListPartitionReassignmentsResponse
from penstock.protocol.kafka.replies.list_transactions import ListTransactionsResponse
from penstock.protocol.kafka.replies.metadata import MetadataResponse
from penstock.protocol.kafka.replies.offset_commit import OffsetCommitResponse
from penstock.protocol.kafka.replies.offset_delete import OffsetDeleteResponse
from penstock.protocol.kafka.replies.offset_fetch import OffsetFetchResponse
from penstock.protocol.kafka.replies.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from penstock.protocol.kafka.replies.produce import ProduceResponse
from penstock.protocol.kafka.replies.push_telemetry import PushTelemetryResponse
from penstock.protocol.kafka.replies.sasl_authenticate import SaslAuthenticateResponse
from penstock.protocol.kafka.replies.sasl_handshake import SaslHandshakeResponse
from penstock.protocol.kafka.replies.sync_group import SyncGroupResponse
from penstock.protocol.kafka.replies.txn_offset_commit import TxnOffsetCommitResponse
from penstock.protocol.kafka.replies.update_features import UpdateFeaturesResponse
from penstock.protocol.kafka.replies.write_txn_markers import WriteTxnMarkersResponse
from penstock.protocol.kafka.requests.add_offsets_to_txn import AddOffsetsToTxnRequestValues
from penstock.protocol.kafka.requests.add_partitions_to_txn import AddPartitionsToTxnRequestValues
from penstock.protocol.kafka.requests.alter_client_quotas import AlterClientQuotasRequestValues
from penstock.protocol.kafka.requests.alter_configs import AlterConfigsRequestValues
from penstock.protocol.kafka.requests.alter_partition_reassignments import AlterPartitionReassignmentsRequestValues
from penstock.protocol.kafka.requests.alter_replica_log_dirs import AlterReplicaLogDirsRequestValues
from penstock.protocol.kafka.requests.alter_user_scram_credentials import AlterUserScramCredentialsRequestValues
from penstock.protocol.kafka.requests.api_versions import ApiVersionsRequestValues
from penstock.protocol.kafka.requests.create_acls import CreateAclsRequestValues
from penstock.protocol.kafka.requests.create_partitions import CreatePartitionsRequestValues
from penstock.protocol.kafka.requests.create_topics import CreateTopicsRequestValues
from penstock.protocol.kafka.requests.delete_acls import DeleteAclsRequestValues
from penstock.protocol.kafka.requests.delete_groups import DeleteGroupsRequestValues
from penstock.protocol.kafka.requests.delete_records import DeleteRecordsRequestValues
from penstock.protocol.kafka.requests.delete_topics import DeleteTopicsRequestValues
from penstock.protocol.kafka.requests.describe_acls import DescribeAclsRequestValues
from penstock.protocol.kafka.requests.describe_client_quotas import DescribeClientQuotasRequestValues
from penstock.protocol.kafka.requests.describe_cluster import DescribeClusterRequestValues
from penstock.protocol.kafka.requests.describe_configs import DescribeConfigsRequestValues
from penstock.protocol.kafka.requests.describe_groups import DescribeGroupsRequestValues
from penstock.protocol.kafka.requests.describe_log_dirs import DescribeLogDirsRequestValues
from penstock.protocol.kafka.requests.describe_producers import DescribeProducersRequestValues
from penstock.protocol.kafka.requests.describe_quorum import DescribeQuorumRequestValues
from penstock.protocol.kafka.requests.describe_topic_partitions import DescribeTopicPartitionsRequestValues
from penstock.protocol.kafka.requests.describe_transactions import DescribeTransactionsRequestValues
from penstock.protocol.kafka.requests.describe_user_scram_credentials import DescribeUserScramCredentialsRequestValues
from penstock.protocol.kafka.requests.elect_leaders import ElectLeadersRequestValues
from penstock.protocol.kafka.requests.end_txn import EndTxnRequestValues
from penstock.protocol.kafka.requests.fetch import FetchRequestValues
from penstock.protocol.kafka.requests.find_coordinator import FindCoordinatorRequestValues
from penstock.protocol.kafka.requests.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequestValues
from penstock.protocol.kafka.requests.heartbeat import HeartbeatRequestValues
from penstock.protocol.kafka.requests.incremental_alter_configs import IncrementalAlterConfigsRequestValues
from penstock.protocol.kafka.requests.init_producer_id import InitProducerIdRequestValues
from penstock.protocol.kafka.requests.join_group import JoinGroupRequestValues
from penstock.protocol.kafka.requests.leave_group import LeaveGroupRequestValues
from penstock.protocol.kafka.requests.list_config_resources import ListConfigResourcesRequestValues
from penstock.protocol.kafka.requests.list_groups import ListGroupsRequestValues
from penstock.protocol.kafka.requests.list_offsets import ListOffsetsRequestValues
from penstock.protocol.kafka.requests.list_partition_reassignments import ListPartitionReassignmentsRequestValues
from penstock.protocol.kafka.requests.list_transactions import ListTransactionsRequestValues
from penstock.protocol.kafka.requests.metadata import MetadataRequestValues
from penstock.protocol.kafka.requests.offset_commit import OffsetCommitRequestValues
from penstock.protocol.kafka.requests.offset_delete import OffsetDeleteRequestValues
from penstock.protocol.kafka.requests.offset_fetch import OffsetFetchRequestValues
from penstock.protocol.kafka.requests.offset_for_leader_epoch import OffsetForLeaderEpochRequestValues
from penstock.protocol.kafka.requests.produce import ProduceRequestValues
from penstock.protocol.kafka.requests.push_telemetry import PushTelemetryRequestValues
from penstock.protocol.kafka.requests.sasl_authenticate import SaslAuthenticateRequestValues
from penstock.protocol.kafka.requests.sasl_handshake import SaslHandshakeRequestValues
from penstock.protocol.kafka.requests.sync_group import SyncGroupRequestValues
from penstock.protocol.kafka.requests.txn_offset_commit import TxnOffsetCommitRequestValues
from penstock.protocol.kafka.requests.update_features import UpdateFeaturesRequestValues
from penstock.protocol.kafka.requests.write_txn_markers import WriteTxnMarkersRequestValues

class Calls(ABC):
    @abstractmethod
    def exchange(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> memoryview: ...
    @overload
    def call(self, api_key: Literal[0], version: int, **values: Unpack[ProduceRequestValues]) -> ProduceResponse: ...
    @overload
    def call(self, api_key: Literal[1], version: int, **values: Unpack[FetchRequestValues]) -> FetchResponse: ...
    @overload
    def call(
        self, api_key: Literal[2], version: int, **values: Unpack[ListOffsetsRequestValues]
    ) -> ListOffsetsResponse: ...
    @overload
    def call(self, api_key: Literal[3], version: int, **values: Unpack[MetadataRequestValues]) -> MetadataResponse: ...
    @overload
    def call(
        self, api_key: Literal[8], version: int, **values: Unpack[OffsetCommitRequestValues]
    ) -> OffsetCommitResponse: ...
    @overload
    def call(
        self, api_key: Literal[9], version: int, **values: Unpack[OffsetFetchRequestValues]
    ) -> OffsetFetchResponse: ...
    @overload
    def call(
        self, api_key: Literal[10], version: int, **values: Unpack[FindCoordinatorRequestValues]
    ) -> FindCoordinatorResponse: ...
    @overload
    def call(
        self, api_key: Literal[11], version: int, **values: Unpack[JoinGroupRequestValues]
    ) -> JoinGroupResponse: ...
    @overload
    def call(
        self, api_key: Literal[12], version: int, **values: Unpack[HeartbeatRequestValues]
    ) -> HeartbeatResponse: ...
    @overload
    def call(
        self, api_key: Literal[13], version: int, **values: Unpack[LeaveGroupRequestValues]
    ) -> LeaveGroupResponse: ...
    @overload
    def call(
        self, api_key: Literal[14], version: int, **values: Unpack[SyncGroupRequestValues]
    ) -> SyncGroupResponse: ...
    @overload
    def call(
        self, api_key: Literal[15], version: int, **values: Unpack[DescribeGroupsRequestValues]
    ) -> DescribeGroupsResponse: ...
    @overload
    def call(
        self, api_key: Literal[16], version: int, **values: Unpack[ListGroupsRequestValues]
    ) -> ListGroupsResponse: ...
    @overload
    def call(
        self, api_key: Literal[17], version: int, **values: Unpack[SaslHandshakeRequestValues]
    ) -> SaslHandshakeResponse: ...
    @overload
    def call(
        self, api_key: Literal[18], version: int, **values: Unpack[ApiVersionsRequestValues]
    ) -> ApiVersionsResponse: ...
    @overload
    def call(
        self, api_key: Literal[19], version: int, **values: Unpack[CreateTopicsRequestValues]
    ) -> CreateTopicsResponse: ...
    @overload
    def call(
        self, api_key: Literal[20], version: int, **values: Unpack[DeleteTopicsRequestValues]
    ) -> DeleteTopicsResponse: ...
    @overload
    def call(
        self, api_key: Literal[21], version: int, **values: Unpack[DeleteRecordsRequestValues]
    ) -> DeleteRecordsResponse: ...
    @overload
    def call(
        self, api_key: Literal[22], version: int, **values: Unpack[InitProducerIdRequestValues]
    ) -> InitProducerIdResponse: ...
    @overload
    def call(
        self, api_key: Literal[23], version: int, **values: Unpack[OffsetForLeaderEpochRequestValues]
    ) -> OffsetForLeaderEpochResponse: ...
    @overload
    def call(
        self, api_key: Literal[24], version: int, **values: Unpack[AddPartitionsToTxnRequestValues]
    ) -> AddPartitionsToTxnResponse: ...
    @overload
    def call(
        self, api_key: Literal[25], version: int, **values: Unpack[AddOffsetsToTxnRequestValues]
    ) -> AddOffsetsToTxnResponse: ...
    @overload
    def call(self, api_key: Literal[26], version: int, **values: Unpack[EndTxnRequestValues]) -> EndTxnResponse: ...
    @overload
    def call(
        self, api_key: Literal[27], version: int, **values: Unpack[WriteTxnMarkersRequestValues]
    ) -> WriteTxnMarkersResponse: ...
    @overload
    def call(
        self, api_key: Literal[28], version: int, **values: Unpack[TxnOffsetCommitRequestValues]
    ) -> TxnOffsetCommitResponse: ...
    @overload
    def call(
        self, api_key: Literal[29], version: int, **values: Unpack[DescribeAclsRequestValues]
    ) -> DescribeAclsResponse: ...
    @overload
    def call(
        self, api_key: Literal[30], version: int, **values: Unpack[CreateAclsRequestValues]
    ) -> CreateAclsResponse: ...
    @overload
    def call(
        self, api_key: Literal[31], version: int, **values: Unpack[DeleteAclsRequestValues]
    ) -> DeleteAclsResponse: ...
    @overload
    def call(
        self, api_key: Literal[32], version: int, **values: Unpack[DescribeConfigsRequestValues]
    ) -> DescribeConfigsResponse: ...
    @overload
    def call(
        self, api_key: Literal[33], version: int, **values: Unpack[AlterConfigsRequestValues]
    ) -> AlterConfigsResponse: ...
    @overload
    def call(
        self, api_key: Literal[34], version: int, **values: Unpack[AlterReplicaLogDirsRequestValues]
    ) -> AlterReplicaLogDirsResponse: ...
    @overload
    def call(
        self, api_key: Literal[35], version: int, **values: Unpack[DescribeLogDirsRequestValues]
    ) -> DescribeLogDirsResponse: ...
    @overload
    def call(
        self, api_key: Literal[36], version: int, **values: Unpack[SaslAuthenticateRequestValues]
    ) -> SaslAuthenticateResponse: ...
    @overload
    def call(
        self, api_key: Literal[37], version: int, **values: Unpack[CreatePartitionsRequestValues]
    ) -> CreatePartitionsResponse: ...
    @overload
    def call(
        self, api_key: Literal[42], version: int, **values: Unpack[DeleteGroupsRequestValues]
    ) -> DeleteGroupsResponse: ...
    @overload
    def call(
        self, api_key: Literal[43], version: int, **values: Unpack[ElectLeadersRequestValues]
    ) -> ElectLeadersResponse: ...
    @overload
    def call(
        self, api_key: Literal[44], version: int, **values: Unpack[IncrementalAlterConfigsRequestValues]
    ) -> IncrementalAlterConfigsResponse: ...
    @overload
    def call(
        self, api_key: Literal[45], version: int, **values: Unpack[AlterPartitionReassignmentsRequestValues]
    ) -> AlterPartitionReassignmentsResponse: ...
    @overload
    def call(
        self, api_key: Literal[46], version: int, **values: Unpack[ListPartitionReassignmentsRequestValues]
    ) -> ListPartitionReassignmentsResponse: ...
    @overload
    def call(
        self, api_key: Literal[47], version: int, **values: Unpack[OffsetDeleteRequestValues]
    ) -> OffsetDeleteResponse: ...
    @overload
    def call(
        self, api_key: Literal[48], version: int, **values: Unpack[DescribeClientQuotasRequestValues]
    ) -> DescribeClientQuotasResponse: ...
    @overload
    def call(
        self, api_key: Literal[49], version: int, **values: Unpack[AlterClientQuotasRequestValues]
    ) -> AlterClientQuotasResponse: ...
    @overload
    def call(
        self, api_key: Literal[50], version: int, **values: Unpack[DescribeUserScramCredentialsRequestValues]
    ) -> DescribeUserScramCredentialsResponse: ...
    @overload
    def call(
        self, api_key: Literal[51], version: int, **values: Unpack[AlterUserScramCredentialsRequestValues]
    ) -> AlterUserScramCredentialsResponse: ...
    @overload
    def call(
        self, api_key: Literal[55], version: int, **values: Unpack[DescribeQuorumRequestValues]
    ) -> DescribeQuorumResponse: ...
    @overload
    def call(
        self, api_key: Literal[57], version: int, **values: Unpack[UpdateFeaturesRequestValues]
    ) -> UpdateFeaturesResponse: ...
    @overload
    def call(
        self, api_key: Literal[60], version: int, **values: Unpack[DescribeClusterRequestValues]
    ) -> DescribeClusterResponse: ...
    @overload
    def call(
        self, api_key: Literal[61], version: int, **values: Unpack[DescribeProducersRequestValues]
    ) -> DescribeProducersResponse: ...
    @overload
    def call(
        self, api_key: Literal[65], version: int, **values: Unpack[DescribeTransactionsRequestValues]
    ) -> DescribeTransactionsResponse: ...
    @overload
    def call(
        self, api_key: Literal[66], version: int, **values: Unpack[ListTransactionsRequestValues]
    ) -> ListTransactionsResponse: ...
    @overload
    def call(
        self, api_key: Literal[71], version: int, **values: Unpack[GetTelemetrySubscriptionsRequestValues]
    ) -> GetTelemetrySubscriptionsResponse: ...
    @overload
    def call(
        self, api_key: Literal[72], version: int, **values: Unpack[PushTelemetryRequestValues]
    ) -> PushTelemetryResponse: ...
    @overload
    def call(
        self, api_key: Literal[74], version: int, **values: Unpack[ListConfigResourcesRequestValues]
    ) -> ListConfigResourcesResponse: ...
    @overload
    def call(
        self, api_key: Literal[75], version: int, **values: Unpack[DescribeTopicPartitionsRequestValues]
    ) -> DescribeTopicPartitionsResponse: ...
