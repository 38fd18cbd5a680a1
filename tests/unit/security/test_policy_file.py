"""Policy files: their two shapes, their defaults, and the mistakes that they are refused for."""

from __future__ import annotations

import json

import pytest

from penstock.security.acl.policy import Policy, PolicyError, parse_policy
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType

ORDERS = AclRule(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", Operation.READ, Permission.ALLOW)


def test_a_policy_has_super_users_and_rules() -> None:
    text = """{"super_users": ["User:admin"], "acls": [
        {"principal": "User:alice", "operation": "read", "resource": {"type": "topic", "name": "orders"}},
        {"principal": "User:*", "host": "10.0.0.7", "operation": "TWO_PHASE_COMMIT", "permission": "Deny",
         "resource": {"type": "TransactionalId", "name": "pay-", "pattern": "PREFIXED"}},
        {"principal": "User:ops", "operation": "All", "resource": {"type": "CLUSTER", "name": "kafka-cluster"}}]}"""
    pay = (ResourceType.TRANSACTIONAL_ID, "pay-", PatternType.PREFIXED)
    cluster = (ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
    assert parse_policy(text) == Policy(
        frozenset({"User:admin"}),
        frozenset(
            {
                ORDERS,
                AclRule(*pay, "User:*", "10.0.0.7", Operation.TWO_PHASE_COMMIT, Permission.DENY),
                AclRule(*cluster, "User:ops", "*", Operation.ALL, Permission.ALLOW),
            }
        ),
    )


def test_a_list_of_entries_is_read_as_well() -> None:
    def entry(name: str, pattern: str) -> dict[str, object]:
        return {
            "principal": {"principal_type": "User", "name": "alice"},
            "resource_pattern": {"resource_type": "Topic", "name": name, "pattern_type": pattern},
            "operation": "Read",
            "permission": "Allow",
            "host": "*",
        }

    found = parse_policy(json.dumps([entry("orders", "Literal"), entry("log-", "Prefixed"), entry("ignored", "Any")]))
    assert found.super_users == frozenset()
    assert found.rules == {
        ORDERS,
        ORDERS._replace(name="log-", pattern=PatternType.PREFIXED),
        ORDERS._replace(name="*"),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"acls": [{"principal": "User:a", "operation": "READ", "resour', "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('"all"', "the file must be an object"),
        ('{"acl": []}', "the file has 'acl'; there are super_users, acls"),
        ('{"acls": {}}', "must be lists"),
        (
            '{"super_users": ["admin"]}',
            "super_users[0]: 'admin' is no principal; write it with its type, such as User:admin",
        ),
        (
            '{"super_users": ["User:"]}',
            "super_users[0]: 'User:' is no principal; write it with its type, such as User:alice",
        ),
        ('{"super_users": ["USER:admin"]}', "super_users[0]: 'USER:admin' fits nobody"),
        ('{"acls": [[]]}', "acls[0] must be an object"),
        ('{"acls": [{"principal": "User:a"}], "acls": []}', "'acls' stands twice in one object"),
        ('{"acls": [{"principal": "User:a", "operation": "READ"}]}', "acls[0].resource must be an object"),
    ],
)
def test_a_file_with_a_mistake_is_refused_as_a_whole(text: str, told: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"operation": "Raed"}, "acls[0].operation: 'Raed' is none of ALL, READ, WRITE,"),
        ({"operation": "ANY"}, "acls[0]: Invalid operation ANY"),
        ({"permission": "maybe"}, "acls[0].permission: 'maybe' is none of DENY, ALLOW"),
        (
            {"principal": "alice"},
            "acls[0].principal: 'alice' is no principal; write it with its type, such as User:alice",
        ),
        (
            {"principal": "user:k2"},
            "acls[0].principal: 'user:k2' fits nobody, because types are compared letter by letter",
        ),
        ({"principal": None}, "acls[0].principal must be text"),
        ({"host": 7}, "acls[0].host must be text"),
        ({"hosts": "*"}, "acls[0] has 'hosts'"),
        ({"host": "10.0.0.0/8"}, "acls[0].host: '10.0.0.0/8' is no address of a client"),
        ({"host": "a.example"}, "acls[0].host: 'a.example' is no address of a client"),
        ({"resource": {"type": "TOPIC", "name": ""}}, "acls[0].resource.name must be text"),
        ({"resource": {"type": "QUEUE", "name": "q"}}, "acls[0].resource.type: 'QUEUE' is none of TOPIC,"),
        ({"resource": {"type": "TOPIC", "name": "q", "pattern": "MATCH"}}, "acls[0]: Invalid patternType MATCH"),
        (
            {"operation": "ClusterAction"},
            "acls[0]: CLUSTER_ACTION is no operation of the resource type TOPIC, which has ALL, READ, WRITE, CREATE,",
        ),
        (
            {"resource": {"type": "CLUSTER", "name": "kafka-cluster"}},
            "acls[0]: READ is no operation of the resource type",
        ),
        ({"resource": {"type": "CLUSTER", "name": "mine"}}, "acls[0]: The only valid name for the CLUSTER resource"),
    ],
)
def test_a_rule_with_a_mistake_is_named(changes: dict[str, object], told: str) -> None:
    rule = {"principal": "User:a", "operation": "READ", "resource": {"type": "TOPIC", "name": "t"}, **changes}
    with pytest.raises(PolicyError) as caught:
        parse_policy(json.dumps({"acls": [rule]}))
    assert told in str(caught.value)
