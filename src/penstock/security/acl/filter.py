"""A filter over rules, as DescribeAcls and DeleteAcls have them."""

from __future__ import annotations

from typing import NamedTuple

from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.acl.rule import ANY_NAME, AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType


class AclFilter(NamedTuple):
    """None and ANY match everything. A pattern of MATCH finds the rules that apply to a resource of that name."""

    kind: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def check(self) -> None:
        """Raise INVALID_REQUEST, with Kafka's message, for a filter with something that does not exist."""
        if self.kind is ResourceType.UNKNOWN or self.pattern is PatternType.UNKNOWN:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
        if self.operation is Operation.UNKNOWN or self.permission is Permission.UNKNOWN:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")

    def matches(self, rule: AclRule) -> bool:
        return (
            self.kind in (ResourceType.ANY, rule.kind)
            and self.principal in (None, rule.principal)
            and self.host in (None, rule.host)
            and self.operation in (Operation.ANY, rule.operation)
            and self.permission in (Permission.ANY, rule.permission)
            and self._matches_pattern(rule)
        )

    def _matches_pattern(self, rule: AclRule) -> bool:
        if self.pattern not in (PatternType.ANY, PatternType.MATCH, rule.pattern):
            return False
        if self.name is None:
            return True
        if self.pattern is not PatternType.MATCH:
            return self.name == rule.name
        if rule.pattern is PatternType.PREFIXED:
            return self.name.startswith(rule.name)
        return rule.name in (self.name, ANY_NAME)
