"""IncrementalAlterConfigs, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class AlterableConfig:
    name: str
    config_operation: int
    value: str | None

class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]

class IncrementalAlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool

class AlterableConfigValues(TypedDict, total=False):
    name: str
    config_operation: int
    value: str | None

class AlterConfigsResourceValues(TypedDict, total=False):
    resource_type: int
    resource_name: str
    configs: Sequence[AlterableConfigValues]

class IncrementalAlterConfigsRequestValues(TypedDict, total=False):
    resources: Sequence[AlterConfigsResourceValues]
    validate_only: bool
