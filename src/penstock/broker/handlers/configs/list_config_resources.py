"""ListConfigResources (key 74, v0–1): the resources that can have configs.

Behaviour:
- Topics and brokers that exist, groups and client-metrics subscriptions that have been configured.
- An unknown type fails the whole request: UNSUPPORTED_VERSION.

Differs from Kafka: no.

Version notes:
- v0 was called ListClientMetricsResources and lists subscriptions only. v1 names the types it wants; none means all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.cluster.controller.config_changes import ConfigResourceType
from penstock.cluster.controller.configs_frontend import CLIENT_METRICS, GROUP
from penstock.model.errors import ErrorCode
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.list_config_resources import (
        ListConfigResourcesBuilders,
        ListConfigResourcesResponse,
    )
    from penstock.protocol.kafka.requests.list_config_resources import ListConfigResourcesRequest

    ListConfigResources = Request[ListConfigResourcesRequest, ListConfigResourcesBuilders]

LISTED = (
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)


def handle(broker: Broker, request: ListConfigResources) -> Steps[ListConfigResourcesResponse]:
    if not broker.access.allows_cluster(request.session, Operation.DESCRIBE_CONFIGS):
        return request.reply.ListConfigResourcesResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, config_resources=()
        )
    wanted = [ConfigResourceType.CLIENT_METRICS]
    if request.version >= 1:
        asked = {ConfigResourceType(kind) for kind in request.body.resource_types}
        if ConfigResourceType.UNKNOWN in asked:
            return request.reply.ListConfigResourcesResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=()
            )
        wanted = [kind for kind in LISTED if not asked or kind in asked]
    found = []
    for kind in wanted:
        for name in _names(broker, kind):
            found.append(request.reply.ConfigResource(resource_name=name, resource_type=kind))
            yield
    return request.reply.ListConfigResourcesResponse(error_code=ErrorCode.NONE, config_resources=found)


def _names(broker: Broker, kind: ConfigResourceType) -> list[str]:
    match kind:
        case ConfigResourceType.TOPIC:
            return [topic.name for topic in broker.topics.all()]
        case ConfigResourceType.GROUP:
            return broker.controller.configs.configured(GROUP)
        case ConfigResourceType.CLIENT_METRICS:
            return broker.controller.configs.configured(CLIENT_METRICS)
    return [str(broker.node_id)]
