"""PushTelemetry, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict
from uuid import UUID

class PushTelemetryRequest:
    client_instance_id: UUID | None
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes

class PushTelemetryRequestValues(TypedDict, total=False):
    client_instance_id: UUID | None
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes
