"""AlterClientQuotas (key 49, v0–1): set and remove quotas of users, client ids and addresses.

Behaviour:
- Each entity succeeds or fails as a whole and has one result; those that succeed are changed together.
- INVALID_REQUEST: entities and keys that do not exist or do not go together, values that are not positive, a key or an
  entity that comes twice (the first of two entries counts). Removing a quota that is not set is not an error.
- With `validate_only` nothing is changed.

Differs from Kafka:
- POLICY_VIOLATION above 100,000 entities; Kafka has no limit.

Version notes:
- v1 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.quotas.entity import Entity as QuotaEntity
from penstock.broker.quotas.entity import make_entity
from penstock.broker.quotas.quota_table import Alteration
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.alter_client_quotas import (
        AlterClientQuotasBuilders,
        AlterClientQuotasResponse,
        EntryData,
    )
    from penstock.protocol.kafka.requests.alter_client_quotas import AlterClientQuotasRequest
    from penstock.protocol.kafka.requests.alter_client_quotas import EntryData as AlteredEntry

    AlterClientQuotas = Request[AlterClientQuotasRequest, AlterClientQuotasBuilders]


async def handle(broker: Broker, request: AlterClientQuotas) -> AlterClientQuotasResponse:
    alterations, turns = [], Turns()
    for entry in request.body.entries:
        alterations.append(_alteration(entry))
        await turns.pause()
    results: dict[QuotaEntity, KafkaError | None]
    try:
        broker.access.check_cluster(request.session, Operation.ALTER_CONFIGS)
        results = await broker.quotas.alter(alterations, validate_only=request.body.validate_only)
    except KafkaError as error:  # a missing right, or the store: none of them was changed
        results = dict.fromkeys((alteration.entity for alteration in alterations), error.kept())
    answers = []
    for entity, problem in results.items():
        answers.append(_result(request, entity, problem))
        await turns.pause()
    return request.reply.AlterClientQuotasResponse(entries=answers)


def _alteration(entry: AlteredEntry) -> Alteration:
    return Alteration(
        make_entity((part.entity_type, part.entity_name) for part in entry.entity),
        [(op.key, None if op.remove else float(op.value)) for op in entry.ops],
    )


def _result(request: AlterClientQuotas, entity: QuotaEntity, error: KafkaError | None) -> EntryData:
    reply = request.reply
    return reply.EntryData(
        error_code=error.code if error else ErrorCode.NONE,
        error_message=error.message if error else None,
        entity=[reply.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
    )
