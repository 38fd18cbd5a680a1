"""ApiVersions, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class ApiVersionsRequest:
    client_software_name: str  # v3+
    client_software_version: str  # v3+

class ApiVersionsRequestValues(TypedDict, total=False):
    client_software_name: str  # v3+
    client_software_version: str  # v3+
