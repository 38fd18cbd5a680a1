"""DescribeConfigs, requests. Made by `python -m tools.wire_types`; do not edit."""

class DescribeConfigsResource:
    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None

class DescribeConfigsRequest:
    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool
    include_documentation: bool  # v3+
