"""Requests about rules, with their numbers spelled out: `rule(...)`, `matching(...)`, and a client that sends them."""

from typing import Any

from tests.support.raw_client import RawClient

ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
DENY, ALLOW = 2, 3
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = 13, 14, 15
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = 2, 3, 4, 5, 6, 7

Row = tuple[int, str, int, str, str, int, int]
"""Resource type, name, pattern, principal, host, operation, permission."""


def rule(
    kind: int = TOPIC,
    name: str = "t",
    pattern: int = LITERAL,
    principal: str = "User:a",
    host: str = "*",
    operation: int = READ,
    permission: int = ALLOW,
) -> Row:
    return kind, name, pattern, principal, host, operation, permission


def creation(row: Row) -> dict[str, Any]:
    kind, name, pattern, principal, host, operation, permission = row
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": principal,
        "host": host,
        "operation": operation,
        "permission_type": permission,
    }


def matching(
    kind: int = ANY,
    name: str | None = None,
    pattern: int = ANY,
    principal: str | None = None,
    host: str | None = None,
    operation: int = ANY,
    permission: int = ANY,
) -> dict[str, Any]:
    return {
        "resource_type_filter": kind,
        "resource_name_filter": name,
        "pattern_type_filter": pattern,
        "principal_filter": principal,
        "host_filter": host,
        "operation": operation,
        "permission_type": permission,
    }


class AclClient:
    """A connection that may change rules."""

    def __init__(self, client: RawClient) -> None:
        self._client = client

    def create(self, *rows: Row, version: int = 3) -> list[tuple[int, str | None]]:
        """Error code and message of each rule."""
        answer = self._client.call("create_acls", version, creations=[creation(row) for row in rows])
        return [(int(each.error_code), each.error_message) for each in answer.results]

    def created(self, *rows: Row) -> None:
        assert {code for code, _ in self.create(*rows)} == {0}

    def described(self, version: int = 3, **wanted: Any) -> set[Row]:
        answer = self._client.call("describe_acls", version, **matching(**wanted))
        assert (int(answer.error_code), answer.error_message) == (0, "")
        return {
            (
                int(each.resource_type),
                each.resource_name,
                int(each.pattern_type),
                entry.principal,
                entry.host,
                int(entry.operation),
                int(entry.permission_type),
            )
            for each in answer.resources
            for entry in each.acls
        }

    def delete(self, *filters: dict[str, Any], version: int = 3) -> list[tuple[int, set[Row]]]:
        """Error code and deleted rules of each filter."""
        answer = self._client.call("delete_acls", version, filters=list(filters))
        return [(int(each.error_code), {_row(one) for one in each.matching_acls}) for each in answer.filter_results]

    def delete_all(self) -> None:
        assert [code for code, _ in self.delete(matching())] == [0]


def _row(found: Any) -> Row:
    assert (int(found.error_code), found.error_message) == (0, None)
    return (
        int(found.resource_type),
        found.resource_name,
        int(found.pattern_type),
        found.principal,
        found.host,
        int(found.operation),
        int(found.permission_type),
    )
