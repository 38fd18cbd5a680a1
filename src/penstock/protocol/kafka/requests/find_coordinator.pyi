"""FindCoordinator, requests. Made by `python -m tools.wire_types`; do not edit."""

class FindCoordinatorRequest:
    key: str  # v0 to v3
    key_type: int  # v1+
    coordinator_keys: tuple[str, ...]  # v4+
