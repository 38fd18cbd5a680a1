"""InitProducerId v0-5, the idempotent part.

Behaviour:
- A producer without a transactional id gets a new id with epoch 0, whatever it had before, as in Kafka.
- An offered id without an epoch, or an epoch without an id, is INVALID_REQUEST (v3+).
- A transactional id is INVALID_REQUEST until there are transactions: an answer that no client retries.
"""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.messages import Entity, field


async def handle(broker: Broker, call: Call) -> Entity:
    if call.request.transactional_id is not None:
        return _answer(call, ErrorCode.INVALID_REQUEST, -1, -1)
    if (field(call.request, "producer_id", -1) == -1) != (field(call.request, "producer_epoch", -1) == -1):
        return _answer(call, ErrorCode.INVALID_REQUEST, -1, -1)
    try:
        producer_id = await broker.producer_ids.next()
    except OSError:
        return _answer(call, ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
    return _answer(call, ErrorCode.NONE, producer_id, 0)


def _answer(call: Call, code: ErrorCode, producer_id: int, epoch: int) -> Entity:
    return call.reply.InitProducerIdResponse(
        throttle_time=0, error_code=code, producer_id=producer_id, producer_epoch=epoch
    )
