"""The rules of the table, by name: what there is while the requests are made, always as `alice`.

Each row is a rule as `tests.support.acl_client.rule` builds it: resource type, name, pattern, principal, host,
operation, permission.
"""

from __future__ import annotations

from tests.acls.world import ADDRESSES
from tests.support.acl_client import (
    ALL,
    ALLOW,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Row,
)

ALICE, EVERYONE, BOB = "User:alice", "User:*", "User:bob"
_NAMES = {TOPIC: "t", GROUP: "g", TRANSACTIONAL_ID: "x", CLUSTER: "kafka-cluster"}


def _rule(
    kind: int,
    operation: int,
    permission: int = ALLOW,
    *,
    name: str = "",
    pattern: int = LITERAL,
    principal: str = ALICE,
    host: str = "*",
) -> Row:
    return kind, name or _NAMES[kind], pattern, principal, host, operation, permission


def _each(kind: int, *operations: int, **more: str) -> tuple[Row, ...]:
    return tuple(_rule(kind, operation, **more) for operation in operations)  # type: ignore[arg-type]


_EVERYTHING = tuple(
    _rule(kind, ALL, name="kafka-cluster" if kind == CLUSTER else "*")
    for kind in (TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER)
)
_CLIENT = (*_each(TOPIC, READ, WRITE), _rule(GROUP, READ), _rule(TRANSACTIONAL_ID, WRITE))

RULE_SETS: dict[str, tuple[Row, ...]] = {
    "none": (),
    "everything": _EVERYTHING,
    "read t": (_rule(TOPIC, READ),),
    "write t": (_rule(TOPIC, WRITE),),
    "describe t": (_rule(TOPIC, DESCRIBE),),
    "create t and absent": (_rule(TOPIC, CREATE), _rule(TOPIC, CREATE, name="absent")),
    "delete t and absent": (_rule(TOPIC, DELETE), _rule(TOPIC, DELETE, name="absent")),
    "describe absent": (_rule(TOPIC, DESCRIBE, name="absent"),),
    "alter t": (_rule(TOPIC, ALTER),),
    "alter configs of t": (_rule(TOPIC, ALTER_CONFIGS),),
    "describe configs of t": (_rule(TOPIC, DESCRIBE_CONFIGS),),
    "all of t": (_rule(TOPIC, ALL),),
    "read all topics": (_rule(TOPIC, READ, name="*"),),
    "write topics with t": (_rule(TOPIC, WRITE, name="t", pattern=PREFIXED),),
    "a prefix that is the asterisk": (_rule(TOPIC, ALL, name="*", pattern=PREFIXED),),
    "read g": (_rule(GROUP, READ),),
    "describe g": (_rule(GROUP, DESCRIBE),),
    "delete g": (_rule(GROUP, DELETE), _rule(GROUP, DELETE, name="absent")),
    "read t and g": (_rule(TOPIC, READ), _rule(GROUP, READ)),
    "describe t, delete g": (_rule(TOPIC, DESCRIBE), _rule(GROUP, DELETE)),
    "configs of g": (_rule(GROUP, DESCRIBE_CONFIGS),),
    "write x": (_rule(TRANSACTIONAL_ID, WRITE),),
    "describe x": (_rule(TRANSACTIONAL_ID, DESCRIBE),),
    "write x and t, read g": (_rule(TRANSACTIONAL_ID, WRITE), _rule(TOPIC, WRITE), _rule(GROUP, READ)),
    "a client of t, g and x": _CLIENT,
    "create in the cluster": (_rule(CLUSTER, CREATE),),
    "delete in the cluster": (_rule(CLUSTER, DELETE),),
    "describe the cluster": (_rule(CLUSTER, DESCRIBE),),
    "alter the cluster": (_rule(CLUSTER, ALTER),),
    "cluster action": (_rule(CLUSTER, CLUSTER_ACTION),),
    "configs of the cluster": (_rule(CLUSTER, DESCRIBE_CONFIGS),),
    "alter configs of the cluster": (_rule(CLUSTER, ALTER_CONFIGS),),
    "idempotent write": (_rule(CLUSTER, IDEMPOTENT_WRITE),),
    "all of the cluster": (_rule(CLUSTER, ALL),),
    "everyone may read t": (_rule(TOPIC, READ, principal=EVERYONE),),
    "bob may read t": (_rule(TOPIC, ALL, principal=BOB),),
    "t from here": (_rule(TOPIC, ALL, host=ADDRESSES["alice"]),),
    "t from elsewhere": (_rule(TOPIC, ALL, host="192.0.2.1"),),
    "everything, but not to write t": (*_EVERYTHING, _rule(TOPIC, WRITE, DENY)),
    "everything, but not to describe t": (*_EVERYTHING, _rule(TOPIC, DESCRIBE, DENY)),
    "everything, but nothing of topics with t": (*_EVERYTHING, _rule(TOPIC, ALL, DENY, pattern=PREFIXED)),
    "everything, but nobody of any topic": (*_EVERYTHING, _rule(TOPIC, ALL, DENY, name="*", principal=EVERYONE)),
    "everything, but not from here": (*_EVERYTHING, _rule(TOPIC, READ, DENY, host=ADDRESSES["alice"])),
    "everything, but not from elsewhere": (*_EVERYTHING, _rule(TOPIC, READ, DENY, host="192.0.2.1")),
    "everything, but not to describe the cluster": (*_EVERYTHING, _rule(CLUSTER, DESCRIBE, DENY)),
    "everything, but not to read g": (*_EVERYTHING, _rule(GROUP, READ, DENY)),
    "write t, but not topics with t": (_rule(TOPIC, WRITE), _rule(TOPIC, WRITE, DENY, pattern=PREFIXED)),
    "write tab, but not t": (_rule(TOPIC, WRITE, name="tab"), _rule(TOPIC, WRITE, DENY)),
    "read t, but not to describe it": (_rule(TOPIC, READ), _rule(TOPIC, DESCRIBE, DENY)),
}
