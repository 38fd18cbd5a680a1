"""An authenticator and an authorizer that write down everything that they are asked, and deny only `denied`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.security.access import Access
from penstock.security.authenticator import Credentials
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

Asked = tuple[Operation, ResourceType]
ANY_NAME = "*"


@dataclass
class Recorder:
    """Sessions are not authenticated for this authenticator, so that it has to admit each request."""

    version: int = 0
    denied: set[Asked] = field(default_factory=set)
    authenticated: list[Session] = field(default_factory=list)
    admitted: list[tuple[Session, str]] = field(default_factory=list)
    asked: list[tuple[Session, Operation, ResourceType, str]] = field(default_factory=list)

    @property
    def access(self) -> Access:
        return Access(self, self)

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        self.authenticated.append(session)
        return session

    def admit(self, session: Session, request: str) -> None:
        self.admitted.append((session, request))

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Denials change between requests only."""

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        self.asked.append((session, operation, kind, name))
        return (operation, kind) not in self.denied

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        return self.allows(session, operation, kind, ANY_NAME)

    def take(self) -> tuple[list[str], set[Asked]]:
        """Admissions and requests for rights since the last call. Every decision was about a session."""
        admitted = [request for _, request in self.admitted]
        assert all(isinstance(session, Session) for session, *_ in self.asked)
        rights = {(operation, kind) for _, operation, kind, _ in self.asked}
        self.admitted.clear()
        self.asked.clear()
        return admitted, rights
