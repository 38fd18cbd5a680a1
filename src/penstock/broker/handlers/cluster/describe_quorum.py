"""DescribeQuorum (key 55, v0–2): which node leads the cluster's metadata, and how far its voters are.

Behaviour:
- This node is the only voter and leads.
- The only quorum is __cluster_metadata, partition 0, asked for alone. Anything else fails the whole request with
  UNKNOWN_TOPIC_OR_PARTITION, as in Kafka.

Differs from Kafka:
- The epoch is the number of starts of this node, and the log end counts the changes made durable: the metadata store
  keeps no log.
- The voter's address is the one that the client came in on.

Version notes:
- v1 adds the times of voters; v2 error messages, directory ids (none, as in a quorum of fixed voters) and the addresses
  of voters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.model.ids import NO_TOPIC_ID
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_quorum import (
        DescribeQuorumBuilders,
        DescribeQuorumResponse,
        PartitionData,
    )
    from penstock.protocol.kafka.requests.describe_quorum import DescribeQuorumRequest

    DescribeQuorum = Request[DescribeQuorumRequest, DescribeQuorumBuilders]

CLUSTER_METADATA: Final = "__cluster_metadata"


def handle(broker: Broker, request: DescribeQuorum) -> Steps[DescribeQuorumResponse]:
    if not broker.access.allows_cluster(request.session, Operation.DESCRIBE):
        return request.reply.DescribeQuorumResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message="", topics=[], nodes=[]
        )
    asked = [(topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in request.body.topics]
    known = asked == [(CLUSTER_METADATA, [0])]
    endpoint = broker.endpoint(request)
    reply = request.reply
    topics = []
    for name, indexes in asked:
        partitions = []
        for index in indexes:
            partitions.append(_quorum(broker, request) if known else _unknown(request, index))
            yield
        topics.append(reply.TopicData(topic_name=name, partitions=partitions))
        yield
    return reply.DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        error_message="",
        topics=topics,
        nodes=[
            reply.Node(
                node_id=broker.node_id,
                listeners=[reply.Listener(name=request.session.listener, host=endpoint.host, port=endpoint.port)],
            )
        ]
        if known and request.version >= 2
        else [],
    )


def _quorum(broker: Broker, request: DescribeQuorum) -> PartitionData:
    log_end = broker.controller.commands.log_end
    now = broker.clock.now_ms()
    voter = request.reply.ReplicaState(
        replica_id=broker.node_id,
        replica_directory_id=NO_TOPIC_ID,
        log_end_offset=log_end,
        last_fetch_timestamp=now,
        last_caught_up_timestamp=now,
    )
    return request.reply.PartitionData(
        partition_index=0,
        error_code=ErrorCode.NONE,
        error_message="",
        leader_id=broker.node_id,
        leader_epoch=broker.controller.commands.epoch,
        high_watermark=log_end,
        current_voters=[voter],
        observers=[],
    )


def _unknown(request: DescribeQuorum, index: int) -> PartitionData:
    return request.reply.PartitionData(
        partition_index=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )
