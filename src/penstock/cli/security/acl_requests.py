"""Requests about rules, through librdkafka: whatever it can log in to, these commands can."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, connect, translated
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType


class AclRequests:
    """A client of one cluster. CommandError if it refuses."""

    def __init__(self, bootstrap: str, properties: Sequence[str] | None) -> None:
        self._admin = connect(bootstrap, properties).admin()

    def matching(self, wanted: Iterable[AclFilter]) -> list[AclRule]:
        """Rules that any of the filters finds, sorted."""
        found: set[AclRule] = set()
        for each in wanted:
            future = self._admin.describe_acls(_native_filter(each), request_timeout=REQUEST_TIMEOUT_S)
            found.update(_rule(binding) for binding in self._result(future))
        if not found:
            self._check_answered()
        return sorted(found)

    def _check_answered(self) -> None:
        """Find out why there are no rules: the library does not tell of an error in the answer to DescribeAcls."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AclOperation

        future = self._admin.describe_cluster(include_authorized_operations=True, request_timeout=REQUEST_TIMEOUT_S)
        allowed = self._result(future).authorized_operations or ()
        if AclOperation.DESCRIBE not in allowed:
            hint = "it needs the operation Describe of the cluster"
            raise CommandError("this principal may not see rules", hint=hint)
        nothing = AclFilter(principal=f"User:{uuid.uuid4()}")
        (future,) = self._admin.delete_acls([_native_filter(nothing)], request_timeout=REQUEST_TIMEOUT_S).values()
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.SECURITY_DISABLED:
                raise _no_authorizer() from error

    def create(self, rules: Sequence[AclRule]) -> None:
        from confluent_kafka.admin import AclBinding

        natives = [AclBinding(*_elements(*rule)) for rule in rules]
        for future in self._admin.create_acls(natives, request_timeout=REQUEST_TIMEOUT_S).values():
            self._result(future)

    def delete(self, wanted: Sequence[AclFilter]) -> None:
        """Delete what filters find. The library does not tell of rules that were found and stay."""
        natives = [_native_filter(each) for each in wanted]
        for future in self._admin.delete_acls(natives, request_timeout=REQUEST_TIMEOUT_S).values():
            self._result(future)

    def _result(self, future: Any) -> Any:
        from confluent_kafka import KafkaError, KafkaException

        try:
            with translated("rules"):
                return future.result()
        except CommandError as refused:
            cause = refused.__cause__
            if isinstance(cause, KafkaException) and cause.args[0].code() == KafkaError.SECURITY_DISABLED:
                raise _no_authorizer() from cause
            raise


def _no_authorizer() -> CommandError:
    hint = "start it with acl.enabled: true"
    return CommandError("this broker has no authorizer, so that it has no rules", hint=hint)


def _native_filter(wanted: AclFilter) -> Any:
    from confluent_kafka.admin import AclBindingFilter

    return AclBindingFilter(*_elements(*wanted))


def _elements(
    kind: ResourceType,
    name: str | None,
    pattern: PatternType,
    principal: str | None,
    host: str | None,
    operation: Operation,
    permission: Permission,
) -> tuple[Any, ...]:
    """The library's values, which have Kafka's numbers."""
    from confluent_kafka.admin import AclOperation, AclPermissionType, ResourcePatternType
    from confluent_kafka.admin import ResourceType as NativeType

    try:
        native_operation = AclOperation(int(operation))
    except ValueError:
        raise CommandError(f"librdkafka does not know the operation {operation.name}", ExitCode.USAGE) from None
    return (
        NativeType(int(kind)),
        name,
        ResourcePatternType(int(pattern)),
        principal,
        host,
        native_operation,
        AclPermissionType(int(permission)),
    )


def _rule(binding: Any) -> AclRule:
    return AclRule(
        ResourceType(binding.restype.value),
        binding.name,
        PatternType(binding.resource_pattern_type.value),
        binding.principal,
        binding.host,
        Operation(binding.operation.value),
        Permission(binding.permission_type.value),
    )
