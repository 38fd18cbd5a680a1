"""The index of rules: a decision looks at the rules that can match, however many others there are.

    type of resource > exact name, or `*`      > principal > rules
                     > prefix, by its length   > principal > rules

Prefixes are found by cutting the name to each length that some prefix has; there are few lengths, whatever the number
of prefixes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from penstock.model.text.address import is_address_of
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.rule import ANY_HOST, ANY_NAME, EVERYONE, AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType

_DESCRIBE: Final = frozenset((Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER))
IMPLIED: Final = {Operation.DESCRIBE: _DESCRIBE, Operation.DESCRIBE_CONFIGS: frozenset((Operation.ALTER_CONFIGS,))}
"""Operations that allow another one, too. A denied operation denies itself alone."""

_Rules = dict[str, list[AclRule]]
"""The rules of one resource pattern, by principal."""


class Verdict(Enum):
    """The rules' answer to a question."""

    ALLOWED = "a rule allows it, and none denies it"
    DENIED = "a rule denies it, or none of those about the resource allows it"
    NO_RULES = "no rule is about the resource"


class AclIndex:
    """Rules, each once. Changed and asked by one thread."""

    def __init__(self) -> None:
        self._rules: dict[AclRule, None] = {}
        self._kinds: dict[ResourceType, _KindIndex] = {kind: _KindIndex() for kind in ResourceType}
        self._with_host = 0

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[AclRule]:
        return iter(self._rules)

    def __contains__(self, rule: AclRule) -> bool:
        return rule in self._rules

    @property
    def names_hosts(self) -> bool:
        """Whether any rule is about a host, so that decisions depend on it."""
        return self._with_host > 0

    def add(self, rule: AclRule) -> None:
        if rule not in self._rules:
            self._rules[rule] = None
            self._with_host += rule.host != ANY_HOST
            self._kinds[rule.kind].add(rule)

    def remove(self, rule: AclRule) -> None:
        if rule in self._rules:
            del self._rules[rule]
            self._with_host -= rule.host != ANY_HOST
            self._kinds[rule.kind].remove(rule)

    def candidates(self, wanted: AclFilter) -> tuple[AclRule, ...]:
        """The rules that a filter can match: those of its name, or all if it has none. A copy of what there is now."""
        name = wanted.name
        if name is None:
            return tuple(self._rules)
        kinds = self._kinds.values() if wanted.kind is ResourceType.ANY else (self._kinds[wanted.kind],)
        patterns = (kind.about(name) if wanted.pattern is PatternType.MATCH else kind.named(name) for kind in kinds)
        return tuple(
            rule for found in patterns for rules in found for of_principal in rules.values() for rule in of_principal
        )

    def decide(self, principal: str, host: str, operation: Operation, kind: ResourceType, name: str) -> Verdict:
        """The verdict of the rules about one resource: a denial before anything that allows."""
        verdict = Verdict.NO_RULES
        for rules in self._kinds[kind].about(name):
            if verdict is Verdict.NO_RULES:
                verdict = Verdict.DENIED
            for rule in _of(rules, principal, host):
                if rule.permission is Permission.DENY:
                    if rule.operation in (operation, Operation.ALL):
                        return Verdict.DENIED
                elif _allows(rule.operation, operation):
                    verdict = Verdict.ALLOWED
        return verdict

    def allows_some(self, principal: str, host: str, operation: Operation, kind: ResourceType) -> bool:
        """Whether rules allow the operation on some name: an allowed pattern that no denied one hides.

        As in Kafka, only rules of the operation itself and of ALL count here, not those that imply it.
        """
        allowed: list[tuple[PatternType, str]] = []
        denied: set[tuple[PatternType, str]] = set()
        for rule in self._kinds[kind].of(principal, host):
            if rule.operation not in (operation, Operation.ALL):
                continue
            if rule.permission is Permission.ALLOW:
                allowed.append((rule.pattern, rule.name))
            else:
                denied.add((rule.pattern, rule.name))
        literal, prefixed = PatternType.LITERAL, PatternType.PREFIXED
        if (literal, ANY_NAME) in denied:
            return False
        return any(
            (pattern, name) == (literal, ANY_NAME)
            or not (
                (pattern is literal and (literal, name) in denied)
                or any((prefixed, name[:length]) in denied for length in range(1, len(name) + 1))
            )
            for pattern, name in allowed
        )


class _KindIndex:
    """Rules about one type of resource."""

    __slots__ = ("_exact", "_lengths", "_prefixes")

    def __init__(self) -> None:
        self._exact: dict[str, _Rules] = {}
        self._prefixes: dict[str, _Rules] = {}
        self._lengths: Counter[int] = Counter()  # of the prefixes

    def about(self, name: str) -> Iterator[_Rules]:
        """The rules of every pattern that the name matches."""
        for key in (name, ANY_NAME) if name != ANY_NAME else (name,):
            rules = self._exact.get(key)
            if rules is not None:
                yield rules
        for length in self._lengths:
            if length <= len(name):
                rules = self._prefixes.get(name[:length])
                if rules is not None:
                    yield rules

    def named(self, name: str) -> Iterator[_Rules]:
        """The rules of the patterns that have this name."""
        for patterns in (self._exact, self._prefixes):
            rules = patterns.get(name)
            if rules is not None:
                yield rules

    def of(self, principal: str, host: str) -> Iterator[AclRule]:
        """All rules for a principal that comes from a host."""
        for patterns in (self._exact, self._prefixes):
            for rules in patterns.values():
                yield from _of(rules, principal, host)

    def add(self, rule: AclRule) -> None:
        patterns = self._patterns(rule)
        rules = patterns.get(rule.name)
        if rules is None:
            rules = patterns[rule.name] = {}
            if patterns is self._prefixes:
                self._lengths[len(rule.name)] += 1
        rules.setdefault(rule.principal, []).append(rule)

    def remove(self, rule: AclRule) -> None:
        patterns = self._patterns(rule)
        rules = patterns[rule.name]
        rules[rule.principal].remove(rule)
        if not rules[rule.principal]:
            del rules[rule.principal]
        if not rules:
            del patterns[rule.name]
            if patterns is self._prefixes:
                self._forget_length(len(rule.name))

    def _forget_length(self, length: int) -> None:
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]

    def _patterns(self, rule: AclRule) -> dict[str, _Rules]:
        return self._prefixes if rule.pattern is PatternType.PREFIXED else self._exact


def _of(rules: _Rules, principal: str, host: str) -> Iterable[AclRule]:
    for key in (principal, EVERYONE) if principal != EVERYONE else (principal,):
        for rule in rules.get(key, ()):
            if rule.host == ANY_HOST or is_address_of(host, rule.host):
                yield rule


def _allows(allowed: Operation, wanted: Operation) -> bool:
    return allowed in (wanted, Operation.ALL) or allowed in IMPLIED.get(wanted, ())
