"""Operations that a session may do to a resource, as the bit field that Metadata and the describe APIs show.

Bits are the numbers of Kafka's AclOperation; the sets are those that make sense for each resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session

_TOPIC: Final = (
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
_CLUSTER: Final = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)
_GROUP: Final = (
    Operation.READ,
    Operation.DELETE,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)


def topic_operations(access: Access, session: Session, name: str) -> int:
    return _bits(_TOPIC, lambda operation: access.shows_topic(session, operation, name))


def group_operations(access: Access, session: Session, name: str) -> int:
    return _bits(_GROUP, lambda operation: access.shows_group(session, operation, name))


def cluster_operations(access: Access, session: Session) -> int:
    """Return the operations on the cluster as bits; none for a session that may not describe it."""
    if not access.shows_cluster(session, Operation.DESCRIBE):
        return 0
    return _bits(_CLUSTER, lambda operation: access.shows_cluster(session, operation))


def _bits(operations: Iterable[Operation], allows: Callable[[Operation], bool]) -> int:
    return sum(1 << operation for operation in operations if allows(operation))
