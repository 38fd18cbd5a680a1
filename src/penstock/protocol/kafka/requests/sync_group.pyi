"""SyncGroup, requests. Made by `python -m tools.wire_types`; do not edit."""

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
