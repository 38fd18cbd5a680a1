"""DeleteGroups, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class DeleteGroupsRequest:
    groups_names: tuple[str, ...]

class DeleteGroupsRequestValues(TypedDict, total=False):
    groups_names: Sequence[str]
