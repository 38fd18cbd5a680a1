"""DescribeConfigs, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class DescribeConfigsResource:
    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None

class DescribeConfigsRequest:
    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool
    include_documentation: bool  # v3+

class DescribeConfigsResourceValues(TypedDict, total=False):
    resource_type: int
    resource_name: str
    configuration_keys: Sequence[str] | None

class DescribeConfigsRequestValues(TypedDict, total=False):
    resources: Sequence[DescribeConfigsResourceValues]
    include_synonyms: bool
    include_documentation: bool  # v3+
