"""EndTxn (key 26, v0–5): commit or abort a transaction.

Behaviour:
- Answered when the decision is on disk; the markers follow.

Differs from Kafka: no.

Version notes:
- v2 knows PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before; v4 TRANSACTION_ABORTABLE.
- v5 is the second generation (KIP-890): the epoch rises, and the answer has the new one, or a new producer id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.handlers.transactions.add_partitions_to_txn import (
    FIRST_GENERATION,
    SECOND_GENERATION,
    fencing_code,
)
from penstock.broker.request import Request
from penstock.broker.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID, ProducerIdentity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.end_txn import EndTxnBuilders, EndTxnResponse
    from penstock.protocol.kafka.requests.end_txn import EndTxnRequest

    EndTxn = Request[EndTxnRequest, EndTxnBuilders]


async def handle(broker: Broker, request: EndTxn) -> EndTxnResponse:
    body = request.body
    code = ErrorCode.NONE
    following = ProducerIdentity(NO_PRODUCER_ID, NO_EPOCH)
    try:
        broker.access.check_transactional_id(request.session, Operation.WRITE, body.transactional_id)
        following = await broker.transactions.end(
            body.transactional_id,
            ProducerIdentity(body.producer_id, body.producer_epoch),
            commit=body.committed,
            version=SECOND_GENERATION if request.version >= 5 else FIRST_GENERATION,
        )
    except KafkaError as error:
        code = fencing_code(error.code, knows_fenced=request.version >= 2)
    return request.reply.EndTxnResponse(
        error_code=code, producer_id=following.producer_id, producer_epoch=following.epoch
    )
