"""AlterConfigs, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class AlterableConfig:
    name: str
    value: str | None

class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]

class AlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool

class AlterableConfigValues(TypedDict, total=False):
    name: str
    value: str | None

class AlterConfigsResourceValues(TypedDict, total=False):
    resource_type: int
    resource_name: str
    configs: Sequence[AlterableConfigValues]

class AlterConfigsRequestValues(TypedDict, total=False):
    resources: Sequence[AlterConfigsResourceValues]
    validate_only: bool
