"""LeaveGroup, requests. Made by `python -m tools.wire_types`; do not edit."""

class LeaveGroupRequest:
    group_id: str
    member_id: str  # v0 to v2
    members: tuple[MemberIdentity, ...]  # v3+

class MemberIdentity:
    member_id: str
    group_instance_id: str | None
    reason: str | None  # v5+
