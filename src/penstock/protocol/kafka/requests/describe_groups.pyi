"""DescribeGroups, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class DescribeGroupsRequest:
    groups: tuple[str, ...]
    include_authorized_operations: bool  # v3+

class DescribeGroupsRequestValues(TypedDict, total=False):
    groups: Sequence[str]
    include_authorized_operations: bool  # v3+
