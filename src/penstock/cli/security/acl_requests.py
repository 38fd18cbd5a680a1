"""Requests about rules.

They do not go through librdkafka: it lags behind the operations and resource types of brokers, shows rules that it does
not know as UNKNOWN, and does not tell why a broker refuses to describe rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.cli.kafka.client import connect
from penstock.cli.terminal.errors import CommandError
from penstock.cli.terminal.rights import Resource, Right, refusal
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType

if TYPE_CHECKING:
    from penstock.cli.kafka.kafka_connection import KafkaConnection

E = TypeVar("E")

_TYPES: Final = {int(member): member for member in ResourceType}
_PATTERNS: Final = {int(member): member for member in PatternType}
_OPERATIONS: Final = {int(member): member for member in Operation}
_PERMISSIONS: Final = {int(member): member for member in Permission}


class AclRequests:
    """A client of a broker that has let us in. It connects anew for each, as a person may think before rules go."""

    def __init__(self, bootstrap: str, properties: Sequence[str] | None) -> None:
        self._clients = connect(bootstrap, properties)

    def matching(self, wanted: Iterable[AclFilter]) -> list[AclRule]:
        """Rules that any of the filters finds, sorted."""
        from kio.schema.describe_acls.v3.request import DescribeAclsRequest
        from kio.schema.describe_acls.v3.response import DescribeAclsResponse

        found: set[AclRule] = set()
        with self._connection() as connection:
            for each in wanted:
                answer = connection.call(DescribeAclsRequest(**_filter_fields(each)), DescribeAclsResponse)
                _check(answer.error_code, answer.error_message, "see rules", "Describe")
                found.update(_rule(resource, entry) for resource in answer.resources for entry in resource.acls)
        return sorted(found)

    def create(self, rules: Sequence[AclRule]) -> None:
        from kio.schema.create_acls.v3.request import AclCreation, CreateAclsRequest
        from kio.schema.create_acls.v3.response import CreateAclsResponse
        from kio.static.primitive import i8

        creations = tuple(
            AclCreation(
                resource_type=i8(rule.kind),
                resource_name=rule.name,
                resource_pattern_type=i8(rule.pattern),
                principal=rule.principal,
                host=rule.host,
                operation=i8(rule.operation),
                permission_type=i8(rule.permission),
            )
            for rule in rules
        )
        with self._connection() as connection:
            answer = connection.call(CreateAclsRequest(creations=creations), CreateAclsResponse)
        for result in answer.results:
            _check(result.error_code, result.error_message, "change rules", "Alter")

    def delete(self, wanted: Sequence[AclFilter]) -> None:
        """Delete what filters find. A rule that was found and stays is no error here."""
        from kio.schema.delete_acls.v3.request import DeleteAclsFilter, DeleteAclsRequest
        from kio.schema.delete_acls.v3.response import DeleteAclsResponse

        filters = tuple(DeleteAclsFilter(**_filter_fields(each)) for each in wanted)
        with self._connection() as connection:
            answer = connection.call(DeleteAclsRequest(filters=filters), DeleteAclsResponse)
        for result in answer.filter_results:
            _check(result.error_code, result.error_message, "change rules", "Alter")

    def _connection(self) -> KafkaConnection:
        from penstock.cli.kafka.kafka_connection import open_connection

        return open_connection(self._clients.bootstrap, self._clients.properties)


def _filter_fields(wanted: AclFilter) -> dict[str, Any]:
    from kio.static.primitive import i8

    return {
        "resource_type_filter": i8(wanted.kind),
        "resource_name_filter": wanted.name,
        "pattern_type_filter": i8(wanted.pattern),
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": i8(wanted.operation),
        "permission_type": i8(wanted.permission),
    }


def _rule(resource: Any, entry: Any) -> AclRule:
    return AclRule(
        _member(_TYPES, resource.resource_type),
        resource.resource_name,
        _member(_PATTERNS, resource.pattern_type),
        entry.principal,
        entry.host,
        _member(_OPERATIONS, entry.operation),
        _member(_PERMISSIONS, entry.permission_type),
    )


def _member(members: Mapping[int, E], number: int) -> E:
    """UNKNOWN for a number of a newer broker."""
    return members.get(int(number), members[0])


def _check(code: int, message: str | None, act: str, operation: str) -> None:
    """`act` needs the operation of the cluster."""
    from penstock.model.errors import ErrorCode

    error = ErrorCode(int(code))
    if error is ErrorCode.NONE:
        return
    if error is ErrorCode.SECURITY_DISABLED:
        hint = "start it with acl.enabled: true"
        raise CommandError("this broker has no authorizer, so that it has no rules", hint=hint)
    if refused := refusal(error, act, [Right(operation, Resource.CLUSTER)]):
        raise refused
    raise CommandError(f"rules: {message or error.name}")
