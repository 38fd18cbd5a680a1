"""DescribeGroups, requests. Made by `python -m tools.wire_types`; do not edit."""

class DescribeGroupsRequest:
    groups: tuple[str, ...]
    include_authorized_operations: bool  # v3+
