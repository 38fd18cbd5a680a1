"""The authorizer with rules: super users first, then the rules, then the default.

Rules come from two places, and both hold: the stored ones, which clients change, and those of a policy file, which is
changed as a whole. Decisions are remembered until the rules change, so that a request costs a look-up whatever the
number of rules. A change raises `version`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from penstock.model.limits import TOPIC_NAME_LENGTH_MAX
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.index import AclIndex, Verdict
from penstock.security.acl.policy import NO_POLICY, Policy
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.principal import Principal
from penstock.security.resources import CLUSTER_NAME, Operation, ResourceType
from penstock.security.session import Session

DECISIONS_MAX: Final = 100_000
NAME_LENGTH_MAX: Final = TOPIC_NAME_LENGTH_MAX
"""Decisions about longer names, of up to 32 KB, are not remembered: a client may ask about any number of them."""
_ANY_NAME_AT_ALL: Final = "hardcode"
"""Kafka's name for a resource that no rule is likely to name: whoever may do something to it may do it to most."""
_ALTERING: Final = (Operation.ALTER, Operation.ALL)

_Key = tuple[Principal, Operation, ResourceType, str, str | None]
_KeyOfAny = tuple[Principal, Operation, ResourceType, str]


class StandardAuthorizer:
    """Implements `Authorizer`. Changed and asked by the event loop's thread."""

    def __init__(self, super_users: Iterable[str] = (), *, allow_everyone_if_no_acl_found: bool = False) -> None:
        self.version = 1
        self._own_super_users = frozenset(super_users)
        self._super_users = self._own_super_users
        self._without_rules = allow_everyone_if_no_acl_found
        self._index = AclIndex()
        self._stored: dict[AclRule, None] = {}
        self._policy = NO_POLICY
        self._listeners: list[Callable[[], None]] = []
        self._by_host = False  # whether any rule names a host, so that decisions depend on it
        self._decisions: dict[_Key, bool] = {}
        self._decisions_of_any: dict[_KeyOfAny, bool] = {}

    def __len__(self) -> int:
        """Rules in all."""
        return len(self._index)

    # --- deciding ----------------------------------------------------------------------------------------------------

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        host = session.host if self._by_host else None
        known = self._decisions.get((session.principal, operation, kind, name, host))
        return self._decide(session, operation, kind, name) if known is None else known

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        key = (session.principal, operation, kind, session.host)
        known = self._decisions_of_any.get(key)
        if known is None:
            known = self.allows(session, operation, kind, _ANY_NAME_AT_ALL) or self._index.allows_some(
                str(session.principal), session.host, operation, kind
            )
            if len(self._decisions_of_any) >= DECISIONS_MAX:
                self._decisions_of_any = {}
            self._decisions_of_any[key] = known
        return known

    def _decide(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        principal = str(session.principal)
        if principal in self._super_users:
            allowed = True
        else:
            verdict = self._index.decide(principal, session.host, operation, kind, name)
            allowed = verdict is Verdict.ALLOWED or (verdict is Verdict.NO_RULES and self._without_rules)
        if len(name) <= NAME_LENGTH_MAX:
            if len(self._decisions) >= DECISIONS_MAX:
                self._decisions = {}
            host = session.host if self._by_host else None
            self._decisions[session.principal, operation, kind, name, host] = allowed
        return allowed

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    # --- rules -------------------------------------------------------------------------------------------------------

    def candidates(self, wanted: AclFilter) -> tuple[AclRule, ...]:
        """The rules among which a filter finds its own, stored or of the policy file: few if it has a name."""
        return self._index.candidates(wanted)

    def is_stored(self, rule: AclRule) -> bool:
        return rule in self._stored

    @property
    def stored_count(self) -> int:
        return len(self._stored)

    @property
    def has_administrators(self) -> bool:
        """Whether anybody may alter the cluster, and with it rules and users: super users, or whom a rule allows it."""
        about = AclFilter(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.MATCH)
        rules = [rule for rule in self._index.candidates(about) if about.matches(rule)]
        allowed = any(rule.permission is Permission.ALLOW and rule.operation in _ALTERING for rule in rules)
        return bool(self._super_users) or allowed or (self._without_rules and not rules)

    def add(self, rules: Collection[AclRule]) -> None:
        """Add stored rules."""
        self._stored.update(dict.fromkeys(rules))
        for rule in rules:
            self._index.add(rule)
        self._changed()

    def remove(self, rules: Collection[AclRule]) -> None:
        """Remove stored rules. One that the policy file has, too, goes on."""
        for rule in rules:
            self._stored.pop(rule, None)
            if rule not in self._policy.rules:
                self._index.remove(rule)
        self._changed()

    def set_policy(self, policy: Policy) -> None:
        """Put the rules and super users of the policy file in the place of those that it had."""
        for rule in self._policy.rules - policy.rules:
            if rule not in self._stored:
                self._index.remove(rule)
        for rule in policy.rules - self._policy.rules:
            self._index.add(rule)
        self._policy = policy
        self._super_users = self._own_super_users | policy.super_users
        self._changed()

    def _changed(self) -> None:
        self._decisions = {}
        self._decisions_of_any = {}
        self._by_host = self._index.names_hosts
        self.version += 1
        for listener in self._listeners:
            listener()
