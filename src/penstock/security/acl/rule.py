"""A rule of an access control list: a principal may, or may not, do something to resources from a host.

Kafka calls it an AclBinding: a resource pattern (type, name, how the name is meant) and an entry (principal, host,
operation, permission).
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.resources import CLUSTER_NAME, Operation, ResourceType

EVERYONE: Final = "User:*"
"""The principal of a rule that is about all principals, of whatever type."""
ANY_HOST: Final = "*"
ANY_NAME: Final = "*"
"""The name of a LITERAL pattern that stands for all resources of its type."""
NAME_BYTES_MAX: Final = 4_096
"""Of each text of a rule: rules are kept in memory and looked up at requests."""


class PatternType(enum.IntEnum):
    """How the name of a pattern is meant. ANY and MATCH are for filters, UNKNOWN for numbers that are none."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4

    __hash__ = int.__hash__


class Permission(enum.IntEnum):
    """AclPermissionType. ANY is for filters, UNKNOWN for numbers that are none."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3

    __hash__ = int.__hash__


class AclRule(NamedTuple):
    """`principal` is text such as User:alice, or User:* for everyone; `host` an address, or * for all."""

    kind: ResourceType
    name: str
    pattern: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission

    @property
    def is_filter(self) -> bool:
        """Whether it has ANY or MATCH, which no rule can have."""
        return (
            self.kind is ResourceType.ANY
            or self.pattern in (PatternType.ANY, PatternType.MATCH)
            or self.operation is Operation.ANY
            or self.permission is Permission.ANY
        )

    def __str__(self) -> str:
        from_host = "" if self.host == ANY_HOST else f" from {self.host}"
        named = f"{self.name}*" if self.pattern is PatternType.PREFIXED else self.name
        what = f"{self.operation.name} {self.kind.name} {named}"
        return f"{self.permission.name} {self.principal}{from_host} {what}"


def check_rule(rule: AclRule) -> None:
    """Raise INVALID_REQUEST, with Kafka's messages, for a rule that cannot be stored; in Kafka's order."""
    if rule.kind is ResourceType.CLUSTER and rule.name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not rule.name:
        raise _invalid("Invalid empty resource name")
    if rule.kind in (ResourceType.UNKNOWN, ResourceType.ANY):
        raise _invalid(f"Invalid resourceType {rule.kind.name}")
    if rule.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {rule.pattern.name}")
    if rule.operation in (Operation.UNKNOWN, Operation.ANY):
        raise _invalid(f"Invalid operation {rule.operation.name}")
    if rule.permission in (Permission.UNKNOWN, Permission.ANY):
        raise _invalid(f"Invalid permissionType {rule.permission.name}")
    if ":" not in rule.principal:
        raise _invalid(
            f"Could not parse principal from `{rule.principal}` (no colon is present separating the principal type"
            " from the principal name)"
        )
    if any(len(text.encode()) > NAME_BYTES_MAX for text in (rule.name, rule.principal, rule.host)):
        raise _invalid(f"A name, principal or host of more than {NAME_BYTES_MAX} bytes")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
