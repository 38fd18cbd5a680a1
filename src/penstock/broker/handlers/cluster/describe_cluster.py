"""DescribeCluster (key 60, v0–2): the brokers, the controller and the cluster id.

Behaviour:
- The one broker is at the address that the client came in on, unless another is advertised.

Differs from Kafka: no.

Version notes:
- v1 asks for brokers or controllers. The controller has no listener of its own, as on Kafka's broker listener:
  MISMATCHED_ENDPOINT_TYPE.
- v2 can include fenced brokers, of which there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.authorized_operations import cluster_operations
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.topic_metadata import NOT_ASKED
from penstock.protocol.kafka.versioned import field

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_cluster import DescribeClusterBuilders, DescribeClusterResponse
    from penstock.protocol.kafka.requests.describe_cluster import DescribeClusterRequest

    DescribeCluster = Request[DescribeClusterRequest, DescribeClusterBuilders]

BROKERS, CONTROLLERS = 1, 2


def handle(broker: Broker, request: DescribeCluster) -> DescribeClusterResponse:
    endpoint_type = field(request.body, "endpoint_type", BROKERS)
    if endpoint_type == CONTROLLERS:
        return _refused(
            request,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
    if endpoint_type != BROKERS:
        message = f"Unsupported endpoint type {endpoint_type}"
        return _refused(request, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, message)
    endpoint = broker.endpoint(request)
    asked = request.body.include_cluster_authorized_operations
    return request.reply.DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=BROKERS,
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=[
            request.reply.DescribeClusterBroker(
                broker_id=broker.node_id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.settings.node.rack,
                is_fenced=False,
            )
        ],
        cluster_authorized_operations=cluster_operations(broker.access, request.session) if asked else NOT_ASKED,
    )


def _refused(request: DescribeCluster, code: ErrorCode, message: str) -> DescribeClusterResponse:
    return request.reply.DescribeClusterResponse(
        error_code=code,
        error_message=message,
        endpoint_type=BROKERS,
        cluster_id="",
        controller_id=-1,
        brokers=(),
        cluster_authorized_operations=NOT_ASKED,
    )
