"""ListConfigResources, requests. Made by `python -m tools.wire_types`; do not edit."""

class ListConfigResourcesRequest:
    resource_types: tuple[int, ...]  # v1+
