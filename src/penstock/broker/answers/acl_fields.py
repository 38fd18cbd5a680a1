"""Rules and filters of the APIs about ACLs, from the numbers of a request.

As in Kafka, 0 in the place of a type, pattern, operation or permission ends the connection. Other numbers that do not
exist are UNKNOWN, which no rule has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType

if TYPE_CHECKING:
    from penstock.protocol.kafka.requests.create_acls import AclCreation
    from penstock.protocol.kafka.requests.delete_acls import DeleteAclsFilter
    from penstock.protocol.kafka.requests.describe_acls import DescribeAclsRequest

E = TypeVar("E")

_TYPES: Final = {int(member): member for member in ResourceType}
_PATTERNS: Final = {int(member): member for member in PatternType}
_OPERATIONS: Final = {int(member): member for member in Operation}
_PERMISSIONS: Final = {int(member): member for member in Permission}
NO_AUTHORIZER: Final = "No Authorizer is configured."


def acl_rule(item: AclCreation) -> AclRule:
    """The rule of a creation, not checked yet."""
    return AclRule(
        _member(_TYPES, item.resource_type),
        item.resource_name,
        _member(_PATTERNS, item.resource_pattern_type),
        item.principal,
        item.host,
        _member(_OPERATIONS, item.operation),
        _member(_PERMISSIONS, item.permission_type),
    )


def acl_filter(item: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        _member(_TYPES, item.resource_type_filter),
        item.resource_name_filter,
        _member(_PATTERNS, item.pattern_type_filter),
        item.principal_filter,
        item.host_filter,
        _member(_OPERATIONS, item.operation),
        _member(_PERMISSIONS, item.permission_type),
    )


def _member(members: Mapping[int, E], number: int) -> E:
    if number == 0:
        raise MalformedRequest("0 for a type, pattern, operation or permission of a rule")
    return members.get(number, members[0])


def security_disabled(text: str = NO_AUTHORIZER) -> KafkaError:
    return KafkaError(ErrorCode.SECURITY_DISABLED, text)
