"""AlterConfigs (key 33, v0–2): replace all configs of a resource. Older clients still use it.

Behaviour:
- A config that the request does not name goes back to its default, which is why IncrementalAlterConfigs came (KIP-339).
  Otherwise both behave alike.

Differs from Kafka:
- As IncrementalAlterConfigs. A resource that comes twice is INVALID_REQUEST; Kafka never answers such a request.

Version notes: none.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from penstock.broker.answers.config_answers import answer_each
from penstock.broker.request import Request
from penstock.cluster.controller.config_changes import KeyLookup, replaced_configs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.alter_configs import AlterConfigsBuilders, AlterConfigsResponse
    from penstock.protocol.kafka.requests.alter_configs import AlterConfigsRequest, AlterConfigsResource

    AlterConfigs = Request[AlterConfigsRequest, AlterConfigsBuilders]


async def handle(broker: Broker, request: AlterConfigs) -> AlterConfigsResponse:
    async def replace(resource: AlterConfigsResource) -> None:
        configs = [(item.name, item.value) for item in resource.configs]
        await broker.operations.config_changes.alter(
            request.session,
            (resource.resource_type, resource.resource_name),
            {name for name, _ in configs},
            functools.partial(_updated, configs),
            validate_only=request.body.validate_only,
        )

    return request.reply.AlterConfigsResponse(responses=await answer_each(request, replace))


def _updated(
    configs: list[tuple[str, str | None]],
    current: Mapping[str, str],
    lookup: KeyLookup,
    defaults: Mapping[str, str],
) -> dict[str, str]:
    return replaced_configs(configs, lookup=lookup)
