"""DescribeClientQuotas, requests. Made by `python -m tools.wire_types`; do not edit."""

class ComponentData:
    entity_type: str
    match_type: int
    match: str | None

class DescribeClientQuotasRequest:
    components: tuple[ComponentData, ...]
    strict: bool
