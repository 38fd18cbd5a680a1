"""StandardAuthorizer as a plain walk over all rules, to compare the real one with."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

IMPLIES_DESCRIBE = {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
IMPLIES_DESCRIBE_CONFIGS = {Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}


class NaiveAuthorizer:
    def __init__(self, rules: Iterable[AclRule], super_users: Iterable[str], allow_everyone: bool) -> None:
        self._rules = list(rules)
        self._super_users = set(super_users)
        self._allow_everyone = allow_everyone

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        if str(session.principal) in self._super_users:
            return True
        about = [rule for rule in self._rules if rule.kind is kind and _covers(rule, name)]
        mine = [rule for rule in about if _is_for(rule, session)]
        if any(rule.permission is Permission.DENY and rule.operation in (operation, Operation.ALL) for rule in mine):
            return False
        if any(rule.permission is Permission.ALLOW and _grants(rule.operation, operation) for rule in mine):
            return True
        return self._allow_everyone and not about

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType, names: Iterable[str]) -> bool:
        """Whether one of the names may be used; the caller gives names that tell all patterns apart."""
        return any(self.allows(session, operation, kind, name) for name in names)


def _covers(rule: AclRule, name: str) -> bool:
    if rule.pattern is PatternType.PREFIXED:
        return name.startswith(rule.name)
    return rule.name in ("*", name)


def _is_for(rule: AclRule, session: Session) -> bool:
    return rule.principal in ("User:*", str(session.principal)) and rule.host in ("*", session.host)


def _grants(allowed: Operation, wanted: Operation) -> bool:
    if allowed in (Operation.ALL, wanted):
        return True
    if wanted is Operation.DESCRIBE:
        return allowed in IMPLIES_DESCRIBE
    return wanted is Operation.DESCRIBE_CONFIGS and allowed in IMPLIES_DESCRIBE_CONFIGS
