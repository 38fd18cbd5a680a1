"""SyncGroup, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class SyncGroupRequestAssignment:
    member_id: str
    assignment: bytes

class SyncGroupRequest:
    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[SyncGroupRequestAssignment, ...]
    group_instance_id: str | None  # v3+
    protocol_type: str | None  # v5+
    protocol_name: str | None  # v5+

class SyncGroupRequestAssignmentValues(TypedDict, total=False):
    member_id: str
    assignment: bytes

class SyncGroupRequestValues(TypedDict, total=False):
    group_id: str
    generation_id: int
    member_id: str
    assignments: Sequence[SyncGroupRequestAssignmentValues]
    group_instance_id: str | None  # v3+
    protocol_type: str | None  # v5+
    protocol_name: str | None  # v5+
