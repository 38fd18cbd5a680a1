"""The rules that the flags of `penstock security acl` mean, named as those of kafka-acls.sh.

Flags of one kind are alternatives: two topics and two operations are four rules for each principal and host. --producer
and --consumer stand for the operations that such a client needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.model.text.principal_text import form_problem, spelling_problem

if TYPE_CHECKING:
    from penstock.security.acl.filter import AclFilter
    from penstock.security.acl.rule import AclRule, PatternType, Permission
    from penstock.security.resources import Operation, ResourceType

_NO_RESOURCE: Final = "give --topic, --group, --cluster, --transactional-id, --delegation-token or --user-principal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Who a rule is about."""

    allow_principals: Sequence[str] = ()
    deny_principals: Sequence[str] = ()
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()

    def entries(self) -> Iterator[tuple[Permission, str, str]]:
        """Permission, principal and host of each rule."""
        from penstock.security.acl.rule import ANY_HOST, Permission

        for permission, principals, hosts in (
            (Permission.ALLOW, self.allow_principals, self.allow_hosts),
            (Permission.DENY, self.deny_principals, self.deny_hosts),
        ):
            if hosts and not principals:
                word = permission.name.lower()
                raise CommandError(f"--{word}-host without --{word}-principal", ExitCode.USAGE)
            for principal, host in itertools.product(principals, hosts or (ANY_HOST,)):
                yield permission, checked_principal(principal), host


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceNames:
    """What a rule is about, by the types of resources."""

    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    transactional_ids: Sequence[str] = ()
    delegation_tokens: Sequence[str] = ()
    user_principals: Sequence[str] = ()
    cluster: bool = False

    def pairs(self) -> Iterator[tuple[ResourceType, str]]:
        from penstock.security.resources import CLUSTER_NAME, ResourceType

        for kind, names in (
            (ResourceType.TOPIC, self.topics),
            (ResourceType.GROUP, self.groups),
            (ResourceType.TRANSACTIONAL_ID, self.transactional_ids),
            (ResourceType.DELEGATION_TOKEN, self.delegation_tokens),
            (ResourceType.USER, self.user_principals),
            (ResourceType.CLUSTER, (CLUSTER_NAME,) if self.cluster else ()),
        ):
            yield from ((kind, name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a rule is about, and the operations."""

    named: ResourceNames
    pattern: str = "literal"
    operations: Sequence[str] = ()
    producer: bool = False
    consumer: bool = False

    def pattern_type(self) -> PatternType:
        from penstock.security.acl.rule import PatternType

        found: PatternType = _named(PatternType, self.pattern, "--resource-pattern-type")
        return found

    def wanted_operations(self) -> list[Operation]:
        from penstock.security.resources import Operation

        return [_named(Operation, each, "--operation") for each in self.operations]

    def acts(self) -> list[tuple[ResourceType, str, Operation]]:
        """Type, name and operation of each rule, each once."""
        if self.producer or self.consumer:
            if self.operations:
                text = "--operation cannot be combined with --producer or --consumer, which choose the operations"
                raise CommandError(text, ExitCode.USAGE)
            return list(dict.fromkeys(self._usual()))
        from penstock.security.resources import Operation

        operations = self.wanted_operations() or [Operation.ALL]
        found = [(kind, name, operation) for kind, name in self.named.pairs() for operation in operations]
        if not found:
            raise CommandError("rules about what?", ExitCode.USAGE, hint=_NO_RESOURCE)
        return found

    def _usual(self) -> Iterator[tuple[ResourceType, str, Operation]]:
        from penstock.security.resources import Operation, ResourceType

        if not self.named.topics:
            raise CommandError("--producer and --consumer need --topic", ExitCode.USAGE)
        if self.consumer and not self.named.groups:
            raise CommandError("--consumer needs --group", ExitCode.USAGE)
        topic_operations = []
        if self.producer:
            topic_operations += [Operation.WRITE, Operation.DESCRIBE, Operation.CREATE]
            for name, operation in itertools.product(
                self.named.transactional_ids, (Operation.WRITE, Operation.DESCRIBE)
            ):
                yield ResourceType.TRANSACTIONAL_ID, name, operation
        if self.consumer:
            topic_operations += [Operation.READ, Operation.DESCRIBE]
            for name in self.named.groups:
                yield ResourceType.GROUP, name, Operation.READ
        for name, operation in itertools.product(self.named.topics, topic_operations):
            yield ResourceType.TOPIC, name, operation


def new_rules(subjects: Subjects, resources: Resources) -> list[AclRule]:
    """The rules to add. CommandError if they are not complete, or would never apply."""
    from penstock.model.errors import KafkaError
    from penstock.security.acl.rule import AclRule, check_rule

    pattern, acts = resources.pattern_type(), resources.acts()
    rules = [
        AclRule(kind, name, pattern, principal, host, operation, permission)
        for permission, principal, host in subjects.entries()
        for kind, name, operation in acts
    ]
    if not rules:
        hint = "give --allow-principal or --deny-principal, such as User:alice"
        raise CommandError("whose rules?", ExitCode.USAGE, hint=hint)
    for rule in rules:
        try:
            check_rule(rule)
        except KafkaError as error:
            raise CommandError(str(error.message), ExitCode.USAGE) from None
        problem = _unused(rule)
        if problem is not None:
            raise CommandError(problem, ExitCode.USAGE)
    return rules


def _unused(rule: AclRule) -> str | None:
    """Why a rule that can be stored would never apply."""
    from penstock.security.acl.fit import fit_problem
    from penstock.security.acl.policy import HOSTS, is_host

    if not is_host(rule.host):
        return HOSTS.format(rule.host)
    return spelling_problem(rule.principal) or fit_problem(rule)


def filters(subjects: Subjects, resources: Resources, principals: Sequence[str] = ()) -> list[AclFilter]:
    """Filters for the rules that the flags mean; what is not given matches everything."""
    from penstock.security.acl.filter import AclFilter
    from penstock.security.acl.rule import Permission
    from penstock.security.resources import Operation, ResourceType

    pattern = resources.pattern_type()
    acts: list[tuple[ResourceType, str | None, Operation]] = []
    if resources.producer or resources.consumer:
        acts += resources.acts()
    else:
        operations = resources.wanted_operations() or [Operation.ANY]
        names: list[tuple[ResourceType, str | None]] = [*resources.named.pairs()] or [(ResourceType.ANY, None)]
        acts += [(kind, name, operation) for kind, name in names for operation in operations]
    entries: list[tuple[Permission, str | None, str | None]] = [
        (Permission.ANY, checked_principal(each), None) for each in principals
    ]
    given_hosts = subjects.allow_hosts or subjects.deny_hosts
    entries += [
        (permission, principal, host if given_hosts else None) for permission, principal, host in subjects.entries()
    ]
    return [
        AclFilter(kind, name, pattern, principal, host, operation, permission)
        for permission, principal, host in entries or [(Permission.ANY, None, None)]
        for kind, name, operation in acts
    ]


def checked_principal(text: str) -> str:
    problem = form_problem(text)
    if problem is not None:
        raise CommandError(problem, ExitCode.USAGE)
    return text


def _named(kinds: type, text: str, option: str) -> Any:
    from penstock.security.acl.policy import PolicyError, named

    try:
        return named(kinds, text, option)
    except PolicyError as error:
        raise CommandError(str(error), ExitCode.USAGE) from None
