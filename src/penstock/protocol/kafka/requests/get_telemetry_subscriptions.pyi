"""GetTelemetrySubscriptions, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict
from uuid import UUID

class GetTelemetrySubscriptionsRequest:
    client_instance_id: UUID | None

class GetTelemetrySubscriptionsRequestValues(TypedDict, total=False):
    client_instance_id: UUID | None
