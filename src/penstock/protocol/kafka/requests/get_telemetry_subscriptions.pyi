"""GetTelemetrySubscriptions, requests. Made by `python -m tools.wire_types`; do not edit."""

from uuid import UUID

class GetTelemetrySubscriptionsRequest:
    client_instance_id: UUID | None
