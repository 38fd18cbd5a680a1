"""The decision whether a session may do something to a resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session


class Authorizer(Protocol):
    """One for all doors of a node."""

    @property
    def version(self) -> int:
        """A number that changes with the rules. Whatever remembers a decision remembers it, too, and asks again."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call the listener after each change of the rules, for parts that act without being asked."""
        ...

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool: ...

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        """Whether the rules allow the operation on at least one name of that kind, as Kafka's authorizeByResourceType.

        The resource need not exist: rules decide, not the resources that there are.
        """
        ...


class AllowAll:
    """The authorizer of a node without rules."""

    version = 0

    def subscribe(self, listener: Callable[[], None]) -> None:
        """The rules never change."""

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        return True

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        return True
