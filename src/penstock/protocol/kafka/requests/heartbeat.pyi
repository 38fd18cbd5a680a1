"""Heartbeat, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class HeartbeatRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None  # v3+

class HeartbeatRequestValues(TypedDict, total=False):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None  # v3+
