"""DescribeAcls, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class DescribeAclsRequest:
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

class DescribeAclsRequestValues(TypedDict, total=False):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
