"""InitProducerId (key 22, v0–5): a producer id with its epoch, with or without a transactional id.

Behaviour:
- A producer without a transactional id gets a new id with epoch 0, whatever it had before, as in Kafka.
- An offered id without an epoch, or an epoch without an id, is INVALID_REQUEST (v3+).
- With a transactional id the epoch rises, and an open transaction is aborted first: CONCURRENT_TRANSACTIONS, and the
  client comes again.

Differs from Kafka: a new transactional id of more than 1,024 bytes is INVALID_REQUEST, and one above
`transactions.ids_max`, or above a principal's half of it where there are rules, is POLICY_VIOLATION.

Version notes:
- v3 offers the id and epoch that the producer had (KIP-360); v4 knows PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH
  before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.handlers.transactions.add_partitions_to_txn import fencing_code
from penstock.broker.request import Request
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import milliseconds
from penstock.protocol.kafka.versioned import field
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.init_producer_id import InitProducerIdBuilders, InitProducerIdResponse
    from penstock.protocol.kafka.requests.init_producer_id import InitProducerIdRequest

    InitProducerId = Request[InitProducerIdRequest, InitProducerIdBuilders]


async def handle(broker: Broker, request: InitProducerId) -> InitProducerIdResponse:
    body = request.body
    if (field(request.body, "producer_id", -1) == -1) != (field(request.body, "producer_epoch", -1) == -1):
        return _answer(request, ErrorCode.INVALID_REQUEST, -1, -1)
    if body.transactional_id is not None:
        return await _of_transactions(broker, request, body.transactional_id)
    if not _may_be_idempotent(broker, request):
        return _answer(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, -1, -1)
    try:
        producer_id = await broker.producer_ids.next()
    except OSError:
        return _answer(request, ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
    if broker.producer_rights is not None:
        broker.producer_rights.given(producer_id, request.session.principal)
    return _answer(request, ErrorCode.NONE, producer_id, 0)


def _may_be_idempotent(broker: Broker, request: InitProducerId) -> bool:
    """IdempotentWrite on the cluster, or Write on any topic (KIP-679)."""
    access, session = broker.access, request.session
    if access.shows_cluster(session, Operation.IDEMPOTENT_WRITE):
        return True
    return access.allows_any_topic(session, Operation.WRITE) or access.allows_cluster(
        session, Operation.IDEMPOTENT_WRITE
    )


async def _of_transactions(broker: Broker, request: InitProducerId, transactional_id: str) -> InitProducerIdResponse:
    body = request.body
    offered = ProducerIdentity(field(body, "producer_id", -1), field(body, "producer_epoch", -1))
    try:
        broker.access.check_transactional_id(request.session, Operation.WRITE, transactional_id)
        with broker.id_share.taken(request.session, transactional_id):
            given = await broker.transactions.init_producer_id(
                transactional_id,
                milliseconds(body.transaction_timeout),
                None if offered.producer_id == -1 else offered,
            )
    except KafkaError as error:
        return _answer(request, fencing_code(error.code, knows_fenced=request.version >= 4), -1, -1)
    return _answer(request, ErrorCode.NONE, given.producer_id, given.epoch)


def _answer(request: InitProducerId, code: ErrorCode, producer_id: int, epoch: int) -> InitProducerIdResponse:
    return request.reply.InitProducerIdResponse(error_code=code, producer_id=producer_id, producer_epoch=epoch)
