"""DescribeClientQuotas (key 48, v0–1): the quotas of entities that match a filter.

Behaviour:
- A filter has a component for each type of entity it is about: a name, the default, or either. Entities must have all
  of these types; with `strict` they may have no others. No components: all entities, or with `strict` none.
- A wrong filter is INVALID_REQUEST, an unknown type UNSUPPORTED_VERSION, with null instead of entries.

Differs from Kafka: no.

Version notes:
- v1 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.array_answer import array_answer
from penstock.broker.quotas.entity import TYPES
from penstock.broker.quotas.entity import Entity as QuotaEntity
from penstock.broker.quotas.quota_table import Component
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import encode
from penstock.protocol.kafka.primitives import INT16, write_string
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_client_quotas import (
        DescribeClientQuotasBuilders,
        DescribeClientQuotasResponse,
        EntryData,
    )
    from penstock.protocol.kafka.requests.describe_client_quotas import DescribeClientQuotasRequest

    DescribeClientQuotas = Request[DescribeClientQuotasRequest, DescribeClientQuotasBuilders]


async def handle(broker: Broker, request: DescribeClientQuotas) -> bytes | DescribeClientQuotasResponse:
    try:
        broker.access.check_cluster(request.session, Operation.DESCRIBE_CONFIGS)
        first = request.body.components[: len(TYPES) + 1]  # among more than there are types is one that is refused
        components = [Component(item.entity_type, item.match_type, item.match) for item in first]
        entities = broker.quotas.matching(components, strict=request.body.strict)
    except KafkaError as error:
        return request.reply.DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    encoded = []
    turns = Turns()
    for entity in entities:
        encoded.append(encode(_entry(broker, request, entity)))
        await turns.pause()
    message = write_string("", request.is_flexible)  # Kafka's is empty, not null
    return array_answer(request, encoded, before=INT16.pack(ErrorCode.NONE) + message)


def _entry(broker: Broker, request: DescribeClientQuotas, entity: QuotaEntity) -> EntryData:
    reply = request.reply
    return reply.EntryData(
        entity=[reply.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[reply.ValueData(key=key, value=value) for key, value in broker.quotas.values(entity)],
    )
