"""DescribeAcls, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AclDescription:
    principal: str
    host: str
    operation: int
    permission_type: int

class DescribeAclsResource:
    resource_type: int
    resource_name: str
    pattern_type: int
    acls: tuple[AclDescription, ...]

class DescribeAclsResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    resources: tuple[DescribeAclsResource, ...]

_AclDescription = AclDescription
_DescribeAclsResource = DescribeAclsResource
_DescribeAclsResponse = DescribeAclsResponse

class DescribeAclsBuilders:
    version: int
    def has(self, name: Literal["AclDescription", "DescribeAclsResource", "DescribeAclsResponse"]) -> bool: ...
    def AclDescription(
        self,
        *,
        principal: str,
        host: str,
        operation: int,
        permission_type: int,
    ) -> _AclDescription: ...
    def DescribeAclsResource(
        self,
        *,
        resource_type: int,
        resource_name: str,
        pattern_type: int = ...,
        acls: Sequence[_AclDescription],
    ) -> _DescribeAclsResource: ...
    def DescribeAclsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None,
        resources: Sequence[_DescribeAclsResource],
    ) -> _DescribeAclsResponse: ...
