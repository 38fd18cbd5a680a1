"""JoinGroup, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class JoinGroupRequestProtocol:
    name: str
    metadata: bytes

class JoinGroupRequest:
    group_id: str
    session_timeout: timedelta
    member_id: str
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    rebalance_timeout: timedelta  # v1+
    group_instance_id: str | None  # v5+
    reason: str | None  # v8+
