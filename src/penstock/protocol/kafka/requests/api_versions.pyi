"""ApiVersions, requests. Made by `python -m tools.wire_types`; do not edit."""

class ApiVersionsRequest:
    client_software_name: str  # v3+
    client_software_version: str  # v3+
