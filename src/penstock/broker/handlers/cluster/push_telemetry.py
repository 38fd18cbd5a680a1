"""PushTelemetry (key 72, v0): a client's metrics, as OpenTelemetry's MetricsData (KIP-714).

Behaviour:
- Checked in this order: the instance id (INVALID_REQUEST), a push after the last one (INVALID_REQUEST), too early
  (THROTTLING_QUOTA_EXCEEDED; a last push never is), the subscription (UNKNOWN_SUBSCRIPTION_ID), the codec
  (UNSUPPORTED_COMPRESSION_TYPE), the size (TELEMETRY_TOO_LARGE).
- Accepted metrics are on the metrics page when this is answered.

Differs from Kafka:
- Bytes that are not metrics are INVALID_RECORD, which makes clients stop pushing; Kafka leaves them to its reporter.
- A push that unpacks to too much is TELEMETRY_TOO_LARGE.

Version notes: none.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.push_telemetry import PushTelemetryBuilders, PushTelemetryResponse
    from penstock.protocol.kafka.requests.push_telemetry import PushTelemetryRequest

    PushTelemetry = Request[PushTelemetryRequest, PushTelemetryBuilders]

_RESERVED = (None, uuid.UUID(int=0), uuid.UUID(int=1))


async def handle(broker: Broker, request: PushTelemetry) -> PushTelemetryResponse:
    body = request.body
    code = ErrorCode.NONE
    if body.client_instance_id in _RESERVED:
        code = ErrorCode.INVALID_REQUEST
    else:
        try:
            await broker.telemetry.push(
                body.client_instance_id,
                request.channel,
                subscription_id=body.subscription_id,
                terminating=body.terminating,
                codec=body.compression_type,
                payload=body.metrics,
            )
        except KafkaError as error:
            code = error.code
    return request.reply.PushTelemetryResponse(error_code=code)
