"""Topics: who may see, create, grow and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.controller.topics_frontend import Admit, TopicsFrontend
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Steps, finish
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session

Result = Topic | KafkaError


class TopicOperations:
    """KafkaError TOPIC_AUTHORIZATION_FAILED where the session has not the right that an operation needs."""

    def __init__(self, table: TopicTable, frontend: TopicsFrontend, access: Access) -> None:
        self._table = table
        self._frontend = frontend
        self._access = access

    def visible(self, session: Session, topics: Iterable[Topic] | None = None) -> list[Topic]:
        """Return those of the topics, or of all, that the session may describe: lists leave the others out."""
        shows, describe = self._access.shows_topic, Operation.DESCRIBE
        found = self._table.all() if topics is None else topics
        return [topic for topic in found if shows(session, describe, topic.name)]

    def find(self, session: Session, name: str, operation: Operation = Operation.DESCRIBE) -> Topic | None:
        """The topic, None if there is none. Without the right the error does not reveal whether it exists."""
        self._access.check_topic(session, operation, name)
        return self._table.get(name)

    def deletable(self, session: Session, name: str) -> Topic | None:
        """The same for a session that wants to delete it."""
        self._access.check_cluster_or_topic(session, Operation.DELETE, name)
        return self._table.get(name)

    def may_create(self, session: Session, name: str) -> bool:
        return self._may(session, Operation.CREATE, name)

    async def create(
        self, session: Session, wanted: Sequence[NewTopic], *, validate_only: bool = False, admit: Admit | None = None
    ) -> list[Result]:
        """One result per topic, in order; those that can be made are made together."""
        results = await finish(self._refusals(session, Operation.CREATE, [new.name for new in wanted]))
        allowed = [new for new, refusal in zip(wanted, results, strict=True) if refusal is None]
        made = iter(await self._frontend.create(allowed, validate_only=validate_only, admit=admit))
        return [next(made) if refusal is None else refusal for refusal in results]

    async def auto_create(self, session: Session, name: str) -> Topic:
        """The topic that a client writes to by name, made with defaults where that is needed and allowed."""
        if name not in self._table:
            self._access.check_cluster_or_topic(session, Operation.CREATE, name)
        return await self._frontend.auto_create(name)

    async def create_partitions(
        self,
        session: Session,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
        admit: Admit | None = None,
    ) -> Topic:
        self._access.check_topic(session, Operation.ALTER, name)
        return await self._frontend.create_partitions(
            name, count, assignments, validate_only=validate_only, admit=admit
        )

    async def delete(
        self, session: Session, topics: Sequence[Topic], *, admit: Admit | None = None
    ) -> list[KafkaError | None]:
        """One result per topic, in order."""
        results = await finish(self._refusals(session, Operation.DELETE, [topic.name for topic in topics]))
        allowed = [topic.topic_id for topic, refusal in zip(topics, results, strict=True) if refusal is None]
        deleted = iter(await self._frontend.delete(allowed, admit=admit))
        outcomes = [next(deleted) if refusal is None else refusal for refusal in results]
        return [outcome if isinstance(outcome, KafkaError) else None for outcome in outcomes]

    def _refusals(self, session: Session, operation: Operation, names: Iterable[str]) -> Steps[list[KafkaError | None]]:
        refused = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)  # one for all: there may be very many
        refusals = []
        for name in names:
            refusals.append(None if self._may(session, operation, name) else refused)
            yield
        return refusals

    def _may(self, session: Session, operation: Operation, name: str) -> bool:
        """As `Access.check_cluster_or_topic`, but without an error to raise."""
        access = self._access
        return access.shows_cluster(session, operation) or access.allows_topic(session, operation, name)
