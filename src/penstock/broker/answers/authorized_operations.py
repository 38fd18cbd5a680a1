"""Operations that a session may do to a resource, as the bit field that Metadata and the describe APIs show.

Bits are the numbers of Kafka's AclOperation; the sets are those that make sense for each resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.security.access import Access
from penstock.security.resources import OPERATIONS, Operation, ResourceType
from penstock.security.session import Session


def topic_operations(access: Access, session: Session, name: str) -> int:
    return _bits(OPERATIONS[ResourceType.TOPIC], lambda operation: access.shows_topic(session, operation, name))


def group_operations(access: Access, session: Session, name: str) -> int:
    return _bits(OPERATIONS[ResourceType.GROUP], lambda operation: access.shows_group(session, operation, name))


def cluster_operations(access: Access, session: Session) -> int:
    """Return the operations on the cluster as bits; none for a session that may not describe it."""
    if not access.shows_cluster(session, Operation.DESCRIBE):
        return 0
    return _bits(OPERATIONS[ResourceType.CLUSTER], lambda operation: access.shows_cluster(session, operation))


def _bits(operations: Iterable[Operation], allows: Callable[[Operation], bool]) -> int:
    return sum(1 << operation for operation in operations if allows(operation))
