"""AlterConfigs, requests. Made by `python -m tools.wire_types`; do not edit."""

class AlterableConfig:
    name: str
    value: str | None

class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]

class AlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool
