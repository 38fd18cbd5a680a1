"""GetTelemetrySubscriptions (key 71, v0): which metrics a client shall push, and how often (KIP-714).

Behaviour:
- A client without an instance id gets one. It then keeps it, here and on other brokers.
- No names mean that nothing is to be pushed, "*" everything; other names are prefixes.
- Asking again before the interval has passed is THROTTLING_QUOTA_EXCEEDED, unless the last push was refused for its
  subscription id or its codec, or the subscriptions have changed.

Differs from Kafka:
- Always served; Kafka needs a metrics reporter that takes telemetry.

Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.compression import GZIP, LZ4, SNAPPY, ZSTD
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TOPIC_ID

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.get_telemetry_subscriptions import (
        GetTelemetrySubscriptionsBuilders,
        GetTelemetrySubscriptionsResponse,
    )
    from penstock.protocol.kafka.requests.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest

    GetTelemetrySubscriptions = Request[GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsBuilders]

# The best first: clients take the first one that they have.
CODECS = (ZSTD, LZ4, GZIP, SNAPPY)


def handle(broker: Broker, request: GetTelemetrySubscriptions) -> GetTelemetrySubscriptionsResponse:
    try:
        instance = broker.telemetry.subscribe(request.body.client_instance_id, request.channel)
    except KafkaError as error:
        return _refused(request, error.code)
    assignment = instance.assignment
    return request.reply.GetTelemetrySubscriptionsResponse(
        error_code=ErrorCode.NONE,
        client_instance_id=instance.instance_id,
        subscription_id=assignment.subscription_id,
        accepted_compression_types=CODECS,
        push_interval=assignment.interval_ms,
        telemetry_max_bytes=broker.settings.telemetry.bytes_max,
        delta_temporality=True,
        requested_metrics=assignment.metrics,
    )


def _refused(request: GetTelemetrySubscriptions, code: ErrorCode) -> GetTelemetrySubscriptionsResponse:
    return request.reply.GetTelemetrySubscriptionsResponse(
        error_code=code,
        client_instance_id=NO_TOPIC_ID,
        subscription_id=0,
        accepted_compression_types=(),
        push_interval=0,
        telemetry_max_bytes=0,
        delta_temporality=False,
        requested_metrics=(),
    )
