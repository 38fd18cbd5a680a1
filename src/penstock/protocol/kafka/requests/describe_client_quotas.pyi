"""DescribeClientQuotas, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class ComponentData:
    entity_type: str
    match_type: int
    match: str | None

class DescribeClientQuotasRequest:
    components: tuple[ComponentData, ...]
    strict: bool

class ComponentDataValues(TypedDict, total=False):
    entity_type: str
    match_type: int
    match: str | None

class DescribeClientQuotasRequestValues(TypedDict, total=False):
    components: Sequence[ComponentDataValues]
    strict: bool
