"""ListGroups, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class ListGroupsRequest:
    states_filter: tuple[str, ...]  # v4+
    types_filter: tuple[str, ...]  # v5+

class ListGroupsRequestValues(TypedDict, total=False):
    states_filter: Sequence[str]  # v4+
    types_filter: Sequence[str]  # v5+
