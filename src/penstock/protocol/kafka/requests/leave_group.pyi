"""LeaveGroup, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class LeaveGroupRequest:
    group_id: str
    member_id: str  # v0 to v2
    members: tuple[MemberIdentity, ...]  # v3+

class MemberIdentity:
    member_id: str
    group_instance_id: str | None
    reason: str | None  # v5+

class LeaveGroupRequestValues(TypedDict, total=False):
    group_id: str
    member_id: str  # v0 to v2
    members: Sequence[MemberIdentityValues]  # v3+

class MemberIdentityValues(TypedDict, total=False):
    member_id: str
    group_instance_id: str | None
    reason: str | None  # v5+
