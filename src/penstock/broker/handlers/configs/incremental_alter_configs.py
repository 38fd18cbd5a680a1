"""IncrementalAlterConfigs (key 44, v0–1): set, delete, append to or subtract from single configs (KIP-339).

Behaviour:
- Each resource succeeds or fails as a whole; a resource that comes twice fails: INVALID_REQUEST.
- APPEND and SUBTRACT are for lists only and start from the value in force.

Differs from Kafka:
- Topics take every topic config. Brokers take the defaults of topic configs; everything else is in the settings file:
  INVALID_REQUEST.
- The broker's own topics take no change by which they would lose or refuse records: INVALID_CONFIG.
- More than 1,000 configs of a resource: INVALID_REQUEST.

Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.config_answers import answer_each
from penstock.broker.request import Request
from penstock.cluster.controller.config_changes import ConfigChange

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.incremental_alter_configs import (
        IncrementalAlterConfigsBuilders,
        IncrementalAlterConfigsResponse,
    )
    from penstock.protocol.kafka.requests.incremental_alter_configs import (
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )

    IncrementalAlterConfigs = Request[IncrementalAlterConfigsRequest, IncrementalAlterConfigsBuilders]


async def handle(broker: Broker, request: IncrementalAlterConfigs) -> IncrementalAlterConfigsResponse:
    async def change(resource: AlterConfigsResource) -> None:
        changes = [ConfigChange(item.name, item.config_operation, item.value) for item in resource.configs]
        which = resource.resource_type, resource.resource_name
        await broker.operations.config_changes.alter_incrementally(
            request.session, which, changes, validate_only=request.body.validate_only
        )

    return request.reply.IncrementalAlterConfigsResponse(responses=await answer_each(request, change))
