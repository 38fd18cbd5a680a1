"""DeleteAcls, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class DeleteAclsFilter:
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

class DeleteAclsRequest:
    filters: tuple[DeleteAclsFilter, ...]

class DeleteAclsFilterValues(TypedDict, total=False):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

class DeleteAclsRequestValues(TypedDict, total=False):
    filters: Sequence[DeleteAclsFilterValues]
