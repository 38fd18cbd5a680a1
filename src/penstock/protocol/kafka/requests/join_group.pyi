"""JoinGroup, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

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

class JoinGroupRequestProtocolValues(TypedDict, total=False):
    name: str
    metadata: bytes

class JoinGroupRequestValues(TypedDict, total=False):
    group_id: str
    session_timeout: timedelta | int
    member_id: str
    protocol_type: str
    protocols: Sequence[JoinGroupRequestProtocolValues]
    rebalance_timeout: timedelta | int  # v1+
    group_instance_id: str | None  # v5+
    reason: str | None  # v8+
