"""Transactions: the open ones, and the abort of hanging ones.

GET  /transactions                     in pages
GET  /transactions/{transactional_id}
POST /transactions/{transactional_id}/abort
GET  /hanging-transactions             open in partitions, and no coordinator knows them
POST /hanging-transactions/abort
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from penstock.broker.operations.topics import TopicOperations
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.states import AT_REST, TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.node.rest.bodies import Answer, NextCursor, Question
from penstock.node.rest.documented import CONFLICT, NOT_FOUND
from penstock.node.rest.paging import first_names, name_after, to_cursor
from penstock.node.rest.parameters import INDEX_MAX, LIMIT, OFFSET_MAX, Asking, Cursor, Limit, TransactionalId
from penstock.node.rest.problems import not_found
from penstock.node.rest.topics import check_partition, existing_topic
from penstock.runtime.clock import Clock
from penstock.runtime.turns import Turns
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session

StateName = Literal[
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"
]
States = Annotated[list[StateName] | None, Query(description="Only in one of these states.")]
OpenFor = Annotated[
    int,
    Query(
        alias="open_for_ms", ge=0, le=OFFSET_MAX, description="Only those that have been open for at least this long."
    ),
]


class TransactionBody(Answer):
    transactional_id: str = Field(examples=["copy-1"])
    state: StateName = Field(examples=["Ongoing"])
    producer_id: int = Field(examples=[4000])
    producer_epoch: int = Field(examples=[2])
    timeout_ms: int = Field(examples=[60000])
    open_for_ms: int | None = Field(description="Null if none is open.", examples=[1200])
    partitions: dict[str, list[int]] = Field(
        description="By topic; only topics that the caller may describe.", examples=[{"orders": [0, 2]}]
    )


class TransactionsBody(Answer):
    transactions: list[TransactionBody]
    next_cursor: NextCursor


class AbortBody(Question):
    """The transaction to abort, so that one that began since is not aborted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"producer_id": 4000, "producer_epoch": 2}]})

    producer_id: int = Field(ge=0, le=OFFSET_MAX)
    producer_epoch: int = Field(ge=0, le=32_767)


class HangingBody(Answer):
    topic: str = Field(examples=["orders"])
    partition: int = Field(examples=[0])
    producer_id: int = Field(examples=[4000])
    producer_epoch: int = Field(examples=[2])
    start_offset: int = Field(description="Readers of committed messages stop here.", examples=[17])
    last_timestamp: int = Field(description="Of its last batch, in milliseconds since 1970.", examples=[1772355600000])


class HangingsBody(Answer):
    transactions: list[HangingBody]
    truncated: bool = Field(description="There are more.", examples=[False])


class AbortHangingBody(Question):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"topic": "orders", "partition": 0, "producer_id": 4000}]}
    )

    topic: str = Field(min_length=1, max_length=249)
    partition: int = Field(ge=0, le=INDEX_MAX)
    producer_id: int = Field(ge=0, le=OFFSET_MAX)


class TransactionRoutes:
    def __init__(
        self, transactions: TransactionCoordinator, topics: TopicOperations, access: Access, clock: Clock
    ) -> None:
        self._transactions = transactions
        self._topics = topics
        self._access = access
        self._clock = clock
        self.router = router = APIRouter(tags=["transactions"])
        router.get("/transactions")(self.list_transactions)
        router.get("/transactions/{transactional_id}", responses=NOT_FOUND)(self.describe_transaction)
        router.post("/transactions/{transactional_id}/abort", responses=NOT_FOUND | CONFLICT)(self.abort_transaction)
        router.get("/hanging-transactions")(self.list_hanging)
        router.post(
            "/hanging-transactions/abort", status_code=204, response_class=Response, responses=NOT_FOUND | CONFLICT
        )(self.abort_hanging)

    async def list_transactions(
        self,
        session: Asking,
        limit: Limit = LIMIT,
        cursor: Cursor = None,
        state: States = None,
        open_for_ms: OpenFor = 0,
    ) -> TransactionsBody:
        """Transactional ids, with the state of each."""
        if self._transactions.is_loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        names = await first_names(self._names(session, state, open_for_ms), name_after(cursor), limit + 1)
        found = []
        for name in names[:limit]:
            try:
                found.append(self._body(session, self._transactions.find(name)[1]))
            except KafkaError:
                continue  # forgotten meanwhile
        return TransactionsBody(
            transactions=found, next_cursor=to_cursor(names[limit - 1]) if len(names) > limit else None
        )

    def _names(self, session: Session, states: list[StateName] | None, open_for_ms: int) -> Iterator[str]:
        for value in self._transactions.all_transactions():
            if not self._access.shows_transactional_id(session, Operation.DESCRIBE, value.transactional_id):
                continue
            if states and value.state.shown_name not in states:
                continue
            if not open_for_ms or (self._open_for_ms(value) or 0) >= open_for_ms:
                yield value.transactional_id

    async def describe_transaction(self, session: Asking, transactional_id: TransactionalId) -> TransactionBody:
        """State, producer and partitions of a transactional id."""
        self._access.check_transactional_id(session, Operation.DESCRIBE, transactional_id)
        return self._body(session, self._find(transactional_id))

    async def abort_transaction(
        self, session: Asking, transactional_id: TransactionalId, body: AbortBody
    ) -> TransactionBody:
        """Abort the open transaction and fence its producer. The decision is on disk when this is answered."""
        self._access.check_transactional_id(session, Operation.WRITE, transactional_id)
        value = self._find(transactional_id)
        if value.identity != (body.producer_id, body.producer_epoch) or value.state is not TransactionState.ONGOING:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"nothing was aborted: {transactional_id[:249]} is {value.state.shown_name} with producer"
                f" {value.producer_id}, epoch {value.epoch}; look at it again before you abort it",
            )
        return self._body(session, await self._transactions.abort(value))

    async def list_hanging(self, session: Asking, limit: Limit = LIMIT) -> HangingsBody:
        """Transactions that no coordinator knows; they hold back readers of committed messages until aborted."""
        if not self._transactions.knows_all:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        found: list[HangingBody] = []
        turns = Turns()
        for partition, each in self._transactions.hanging:
            if not self._access.shows_topic(session, Operation.READ, partition.topic):
                continue
            if len(found) == limit:
                return HangingsBody(transactions=found, truncated=True)
            found.append(
                HangingBody(
                    topic=partition.topic,
                    partition=partition.index,
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    start_offset=each.first_offset,
                    last_timestamp=each.last_timestamp_ms,
                )
            )
            await turns.pause()
        return HangingsBody(transactions=found, truncated=False)

    async def abort_hanging(self, session: Asking, body: AbortHangingBody) -> None:
        """Abort a transaction that no coordinator knows. Others are refused, so that no transaction ends in part."""
        self._access.check_cluster(session, Operation.ALTER)
        topic = existing_topic(self._topics, session, body.topic)
        check_partition(topic, body.partition)
        place = TopicPartition(body.topic, body.partition)
        try:
            await self._transactions.hanging.abort(place, body.producer_id)
        except KafkaError as error:
            if error.code is not ErrorCode.INVALID_TXN_STATE:
                raise
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {body.producer_id} has no hanging transaction in {place.topic}-{place.partition};"
                " GET /api/v1/hanging-transactions lists them; those that a coordinator knows are aborted by their id",
            ) from error

    def _find(self, transactional_id: str) -> Transaction:
        try:
            return self._transactions.find(transactional_id)[1]
        except KafkaError as error:
            if error.code is not ErrorCode.INVALID_PRODUCER_ID_MAPPING:
                raise
            text = f"there is no transactional id {transactional_id[:249]}"
            raise not_found(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, text) from error

    def _open_for_ms(self, value: Transaction) -> int | None:
        return None if value.state in AT_REST else max(0, self._clock.now_ms() - value.start_ms)

    def _body(self, session: Session, value: Transaction) -> TransactionBody:
        """The transaction, with its partitions in topics that the session may describe."""
        partitions: dict[str, list[int]] = {}
        for topic, index in sorted(value.partitions):
            if topic in partitions or self._access.shows_topic(session, Operation.DESCRIBE, topic):
                partitions.setdefault(topic, []).append(index)
        return TransactionBody.model_validate(
            {
                "transactional_id": value.transactional_id,
                "state": value.state.shown_name,
                "producer_id": value.producer_id,
                "producer_epoch": value.epoch,
                "timeout_ms": value.timeout_ms,
                "open_for_ms": self._open_for_ms(value),
                "partitions": partitions,
            }
        )
