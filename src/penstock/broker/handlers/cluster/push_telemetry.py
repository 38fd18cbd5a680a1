"""PushTelemetry (key 72, v0): a client's metrics, as OpenTelemetry's MetricsData (KIP-714).

Behaviour:
- Checked in this order: the instance id (INVALID_REQUEST), a push after the last one (INVALID_REQUEST), too early
  (THROTTLING_QUOTA_EXCEEDED; a last push never is), the subscription (UNKNOWN_SUBSCRIPTION_ID), the codec
  (UNSUPPORTED_COMPRESSION_TYPE), the size (TELEMETRY_TOO_LARGE).
- Bytes that are no metrics are INVALID_RECORD, which makes clients stop pushing; those that unpack to too much are
  TELEMETRY_TOO_LARGE.
- What is accepted stands on the metrics page when this is answered.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from penstock.broker.call import Call
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

_RESERVED = (None, uuid.UUID(int=0), uuid.UUID(int=1))


async def handle(broker: Broker, call: Call) -> Entity:
    request = call.request
    code = ErrorCode.NONE
    if request.client_instance_id in _RESERVED:
        code = ErrorCode.INVALID_REQUEST
    else:
        try:
            await broker.telemetry.push(
                request.client_instance_id,
                call.client_id,
                call.caller,
                subscription_id=request.subscription_id,
                terminating=request.terminating,
                codec=request.compression_type,
                payload=request.metrics,
            )
        except KafkaError as error:
            code = error.code
    return call.reply.PushTelemetryResponse(throttle_time=0, error_code=code)
