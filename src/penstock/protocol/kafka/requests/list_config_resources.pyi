"""ListConfigResources, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class ListConfigResourcesRequest:
    resource_types: tuple[int, ...]  # v1+

class ListConfigResourcesRequestValues(TypedDict, total=False):
    resource_types: Sequence[int]  # v1+
