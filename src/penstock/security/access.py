"""The gate that every request of every door passes: who asks, and whether that session may do it.

The chain is the same everywhere, however a door implements its steps:

    authenticate    a session for the connection or the HTTP request
    admit           each request: at once if the session is authenticated, else only what leads to that
    throttle        quotas, where the door has them
    dispatch        to the handler, use case or route
    authorize       there, each resource before the act: `check_…` raises Kafka's error, `allows_…` says yes or no, and
                    `shows_…` filters lists

A decision of `check_…` and `allows_…` is in the audit log: refusals always, the rest if its level says so. What a list
shows or leaves out, or a second right would have given, is not: the client did not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.audit import Audit
from penstock.security.authenticator import NO_CREDENTIALS, Anonymous, Authenticator, Credentials
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.security.resources import CLUSTER_NAME, Operation, ResourceType
from penstock.security.session import Session

Allows = Callable[[Session, Operation, ResourceType, str], bool]

# Looked up once: members of an enum are slow to find, and a request may check thousands of resources.
_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One for all doors of a node, with the same authenticator and authorizer as long as it lives.

    Rules that change are the authorizer's. Parts that remember decisions keep the authorizer, too: its `version` says
    whether they still hold.
    """

    authenticator: Authenticator = field(default_factory=Anonymous)
    authorizer: Authorizer = field(default_factory=AllowAll)
    audit: Audit = field(default_factory=Audit)
    _allows: Allows = field(init=False)
    _shows: Allows = field(init=False)

    def __post_init__(self) -> None:
        # Bound once: they are called for every resource.
        object.__setattr__(self, "_shows", self.authorizer.allows)
        allows = self._allows_and_tells if self.audit.logs_allowed else self.authorizer.allows
        object.__setattr__(self, "_allows", allows)

    def _allows_and_tells(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        allowed = self.authorizer.allows(session, operation, kind, name)
        if allowed:
            self.audit.allowed(session, operation, kind, name)
        return allowed

    def authenticate(self, session: Session, credentials: Credentials = NO_CREDENTIALS) -> Session:
        return self.authenticator.authenticate(session, credentials)

    def admit(self, session: Session, request: str) -> None:
        """Raise AuthenticationFailed if the session has to log in before it asks for this."""
        if not session.authenticated:
            self.authenticator.admit(session, request)

    # --- decisions ---------------------------------------------------------------------------------------------------

    def allows_topic(self, session: Session, operation: Operation, name: str) -> bool:
        return self._allows(session, operation, _TOPIC, name) or self._refuse(session, operation, _TOPIC, name)

    def allows_any_topic(self, session: Session, operation: Operation) -> bool:
        """Whether there can be a topic to which the session may do this."""
        return self.authorizer.allows_any(session, operation, _TOPIC)

    def allows_group(self, session: Session, operation: Operation, name: str) -> bool:
        return self._allows(session, operation, _GROUP, name) or self._refuse(session, operation, _GROUP, name)

    def allows_transactional_id(self, session: Session, operation: Operation, name: str) -> bool:
        kind = _TRANSACTIONAL_ID
        return self._allows(session, operation, kind, name) or self._refuse(session, operation, kind, name)

    def allows_cluster(self, session: Session, operation: Operation) -> bool:
        name = CLUSTER_NAME
        return self._allows(session, operation, _CLUSTER, name) or self._refuse(session, operation, _CLUSTER, name)

    def _refuse(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        self.audit.denied(session, operation, kind, name)
        return False

    def check_topic(self, session: Session, operation: Operation, name: str) -> None:
        if not self._allows(session, operation, _TOPIC, name):
            self.audit.denied(session, operation, _TOPIC, name)
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def check_group(self, session: Session, operation: Operation, name: str) -> None:
        if not self._allows(session, operation, _GROUP, name):
            self.audit.denied(session, operation, _GROUP, name)
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def check_transactional_id(self, session: Session, operation: Operation, name: str) -> None:
        if not self._allows(session, operation, _TRANSACTIONAL_ID, name):
            self.audit.denied(session, operation, _TRANSACTIONAL_ID, name)
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    def check_cluster(self, session: Session, operation: Operation) -> None:
        if not self.allows_cluster(session, operation):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    def check_cluster_or_topic(self, session: Session, operation: Operation, name: str) -> None:
        """The right on the cluster gives it on every topic: so Kafka has it for creating and deleting topics."""
        if not self.shows_cluster(session, operation):
            self.check_topic(session, operation, name)

    # --- lists -------------------------------------------------------------------------------------------------------

    def shows_topic(self, session: Session, operation: Operation, name: str) -> bool:
        return self._shows(session, operation, _TOPIC, name)

    def shows_group(self, session: Session, operation: Operation, name: str) -> bool:
        return self._shows(session, operation, _GROUP, name)

    def shows_transactional_id(self, session: Session, operation: Operation, name: str) -> bool:
        return self._shows(session, operation, _TRANSACTIONAL_ID, name)

    def shows_cluster(self, session: Session, operation: Operation) -> bool:
        return self._shows(session, operation, _CLUSTER, CLUSTER_NAME)
