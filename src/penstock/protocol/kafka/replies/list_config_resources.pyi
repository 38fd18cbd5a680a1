"""ListConfigResources, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class ConfigResource:
    resource_name: str
    resource_type: int  # v1+

class ListConfigResourcesResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    config_resources: tuple[ConfigResource, ...]

_ConfigResource = ConfigResource
_ListConfigResourcesResponse = ListConfigResourcesResponse

class ListConfigResourcesBuilders:
    version: int
    def has(self, name: Literal["ConfigResource", "ListConfigResourcesResponse"]) -> bool: ...
    def ConfigResource(
        self,
        *,
        resource_name: str,
        resource_type: int = ...,
    ) -> _ConfigResource: ...
    def ListConfigResourcesResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        config_resources: Sequence[_ConfigResource],
    ) -> _ListConfigResourcesResponse: ...
