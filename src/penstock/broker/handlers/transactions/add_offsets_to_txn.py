"""AddOffsetsToTxn (key 25, v0–4): add the partition of `__consumer_offsets` that holds a group to the transaction.

Behaviour:
- As AddPartitionsToTxn with that one partition.

Differs from Kafka:
- While markers of the transaction before are written, it waits for up to 200 ms before it answers
  CONCURRENT_TRANSACTIONS.

Version notes:
- v2 knows PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before; v4 TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.handlers.transactions.add_partitions_to_txn import FIRST_GENERATION, fencing_code
from penstock.broker.request import Request
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.add_offsets_to_txn import AddOffsetsToTxnBuilders, AddOffsetsToTxnResponse
    from penstock.protocol.kafka.requests.add_offsets_to_txn import AddOffsetsToTxnRequest

    AddOffsetsToTxn = Request[AddOffsetsToTxnRequest, AddOffsetsToTxnBuilders]


async def handle(broker: Broker, request: AddOffsetsToTxn) -> AddOffsetsToTxnResponse:
    body = request.body
    sender = ProducerIdentity(body.producer_id, body.producer_epoch)
    code = ErrorCode.NONE
    try:
        broker.access.check_transactional_id(request.session, Operation.WRITE, body.transactional_id)
        broker.access.check_group(request.session, Operation.READ, body.group_id)
        place = await broker.groups.place_of(body.group_id)
        await broker.transactions.add_partitions(body.transactional_id, sender, [place], FIRST_GENERATION)
    except KafkaError as error:
        code = fencing_code(error.code, knows_fenced=request.version >= 2)
    return request.reply.AddOffsetsToTxnResponse(error_code=code)
