"""ListGroups, requests. Made by `python -m tools.wire_types`; do not edit."""

class ListGroupsRequest:
    states_filter: tuple[str, ...]  # v4+
    types_filter: tuple[str, ...]  # v5+
