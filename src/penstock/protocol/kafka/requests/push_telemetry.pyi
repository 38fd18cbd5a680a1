"""PushTelemetry, requests. Made by `python -m tools.wire_types`; do not edit."""

from uuid import UUID

class PushTelemetryRequest:
    client_instance_id: UUID | None
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes
