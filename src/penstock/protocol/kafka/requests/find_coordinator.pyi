"""FindCoordinator, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class FindCoordinatorRequest:
    key: str  # v0 to v3
    key_type: int  # v1+
    coordinator_keys: tuple[str, ...]  # v4+

class FindCoordinatorRequestValues(TypedDict, total=False):
    key: str  # v0 to v3
    key_type: int  # v1+
    coordinator_keys: Sequence[str]  # v4+
