"""DeleteGroups, requests. Made by `python -m tools.wire_types`; do not edit."""

class DeleteGroupsRequest:
    groups_names: tuple[str, ...]
