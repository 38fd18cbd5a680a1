"""The transaction coordinator of this node, with one method for each kind of request.

A request finds its transaction's shard, computes the next value (`transactions.transaction`), and waits until that is
on disk. The end of a transaction goes on without the client (`transactions.completion`).

A request for the next transaction meanwhile waits a moment for the end instead of being refused at once
(CONCURRENT_TRANSACTIONS), which would cost a client 20 to 100 ms.

Failures are KafkaErrors; how their codes differ by API and version is up to the handlers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from penstock.broker.coordination.coordinator_log import Outcome, resolving
from penstock.broker.coordination.coordinator_shards import CoordinatorShards
from penstock.broker.transactions.completion import Completions
from penstock.broker.transactions.expiry import TransactionExpiry
from penstock.broker.transactions.hanging import HangingTransactions
from penstock.broker.transactions.markers import MarkerWriter, OnOffsetsEnded
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.broker.transactions.shard import TransactionShard
from penstock.broker.transactions.states import AT_REST, PREPARED, TransactionState
from penstock.broker.transactions.transaction import (
    NO_PRODUCER_ID,
    SECOND_GENERATION,
    ProducerIdentity,
    Transaction,
)
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import TransactionSettings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TRANSACTIONAL_ID_BYTES_MAX
from penstock.model.topic_name import TRANSACTION_STATE
from penstock.model.topic_partition import TopicPartition
from penstock.observability.repeats import Repeats
from penstock.runtime.clock import Clock
from penstock.runtime.pauses import pause_at
from penstock.runtime.turns import Turns

logger = logging.getLogger(__name__)

OPENED_AT_ONCE_MAX = 50
"""Logs that are opened without turns for others: about two milliseconds, if none of them was open."""


class TransactionCoordinator:
    """All transactional ids of the node."""

    def __init__(
        self,
        *,
        settings: TransactionSettings,
        partitions: PartitionTable,
        topics: TopicTable,
        controller: Controller,
        clock: Clock,
        producer_ids: ProducerIds,
        on_offsets_ended: OnOffsetsEnded,
    ) -> None:
        self._settings = settings
        self._partitions = partitions
        self._clock = clock
        self._producer_ids = producer_ids
        self._repeats = Repeats(logger)
        self.markers = MarkerWriter(partitions, clock, on_offsets_ended)
        self.completions = Completions(self.markers, clock)
        self.names: dict[int, str] = {}
        """Transactional ids by their producer ids."""
        make = partial(TransactionShard, names=self.names)
        self._shards = CoordinatorShards(TRANSACTION_STATE, partitions, topics, controller, make)
        self.expiry = TransactionExpiry(self._shards, settings, clock, self.completions.ends, self.abort_open)
        self.hanging = HangingTransactions(partitions, self.markers, self._shards, self.open)

    # --- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to serve. Loading goes on in the background; `loaded` waits for it."""
        self._shards.start("transactions", self._load, self.expiry.run)

    async def loaded(self) -> None:
        await self._shards.loaded()

    async def stop(self) -> None:
        """Answer waiting requests, so that clients look for the coordinator again; transactions stay in the log."""
        await self._shards.stop()
        self.markers.queue.stop()
        self.completions.give_up()

    async def _load(self) -> None:
        for shard in self._shards.loading():
            await shard.load()
            for value in shard.transactions.open():
                if value.state in PREPARED:
                    self.completions.begin(value.transactional_id)
                    self.completions.finish(shard, value)
        self._partitions.subscribe(self.hanging.abort_in)
        for partition in self._partitions.opened():
            self.hanging.abort_in(partition)

    # --- finding -----------------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Make sure that transactions can live here: FindCoordinator is about to promise it."""
        await self._shards.prepare()

    def shard_of(self, transactional_id: str) -> TransactionShard | None:
        """The shard of an id; None if there is no topic yet. KafkaError while it is not available."""
        return self._shards.holder(transactional_id)

    def is_known(self, transactional_id: str) -> bool:
        shard = self.shard_of(transactional_id)
        return shard is not None and shard.transactions.get(transactional_id) is not None

    def find(self, transactional_id: str) -> tuple[TransactionShard, Transaction]:
        """The transaction of an id.

        KafkaError INVALID_REQUEST or INVALID_PRODUCER_ID_MAPPING, as every request but InitProducerId answers.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        shard = self.shard_of(transactional_id)
        value = None if shard is None else shard.transactions.get(transactional_id)
        if shard is None or value is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return shard, value

    async def _find_at_rest(self, transactional_id: str) -> tuple[TransactionShard, Transaction]:
        """The transaction of an id, once an end that was decided is complete or has taken too long."""
        self.find(transactional_id)
        await self.completions.wait(transactional_id)
        return self.find(transactional_id)

    def all_transactions(self) -> Iterator[Transaction]:
        for shard in self._shards:
            yield from tuple(shard.transactions)  # others may run between two of them

    def open(self) -> list[Transaction]:
        """Transactions that have begun and are not complete."""
        return [value for shard in self._shards for value in shard.transactions.open()]

    @property
    def oldest_seconds(self) -> float:
        starts = [value.start_ms for value in self.open()]
        return max(0.0, (self._clock.now_ms() - min(starts)) / 1000) if starts else 0.0

    @property
    def id_count(self) -> int:
        return sum(len(shard.transactions) for shard in self._shards.present())

    @property
    def knows_all(self) -> bool:
        """False while a shard is loading or has failed: a transaction that is not found may still exist."""
        return self._shards.all_are_active

    @property
    def is_loading(self) -> bool:
        return self._shards.is_loading

    # --- InitProducerId ----------------------------------------------------------------------------------------------

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, offered: ProducerIdentity | None
    ) -> ProducerIdentity:
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._settings.timeout_max_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        await self.prepare()
        shard = self.shard_of(transactional_id)
        if shard is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        await self.completions.wait(transactional_id)
        value = await self._value_to_init(shard, transactional_id, timeout_ms, offered)
        if value.state is TransactionState.PREPARE_EPOCH_FENCE:
            await self.abort_open(self.find(transactional_id)[1])
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        await self._stored(shard, value)
        return value.identity

    async def _value_to_init(
        self, shard: TransactionShard, transactional_id: str, timeout_ms: int, offered: ProducerIdentity | None
    ) -> Transaction:
        new_id = NO_PRODUCER_ID
        while True:
            value = shard.transactions.get(transactional_id)
            if value is not None:
                value.check_offered(offered)
            if value is not None and not (value.state in AT_REST and value.needs_new_id(offered)):
                break
            if new_id != NO_PRODUCER_ID:
                break
            if value is None:
                self._check_new(transactional_id)
            new_id = await self._new_producer_id()
        if value is None:
            value = Transaction(transactional_id=transactional_id, producer_id=new_id)
        return value.initialised(timeout_ms, offered, self._clock.now_ms(), new_id)

    def _check_new(self, transactional_id: str) -> None:
        """Bound what clients can make the node keep by naming ids: each is a record and lives in memory."""
        if len(transactional_id.encode()) > TRANSACTIONAL_ID_BYTES_MAX:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if self.id_count >= self._settings.ids_max:
            self._repeats.warning(
                "full",
                "a new transactional id was refused: %d are the most; they expire when they are not used"
                " (transactions.id_expiration_ms), or raise transactions.ids_max",
                self._settings.ids_max,
            )
            raise KafkaError(ErrorCode.POLICY_VIOLATION)

    async def _new_producer_id(self) -> int:
        try:
            return await self._producer_ids.next()
        except OSError as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE) from error

    # --- partitions --------------------------------------------------------------------------------------------------

    async def add_partitions(
        self, transactional_id: str, sender: ProducerIdentity, partitions: Collection[TopicPartition], version: int
    ) -> None:
        """Add partitions: they are in the transaction, and that is on disk, when this returns."""
        _, value = await self._find_at_rest(transactional_id)
        new = [place for place in partitions if place not in value.partitions]
        if len(new) > OPENED_AT_ONCE_MAX:
            value.check_sender(sender)
            await self._open_in_turns(new)
        else:
            for place in new:
                self._open_log(place)
        future: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        if not self.add_at_once(transactional_id, sender, partitions, version, resolving(future)):
            await _success(future)

    def add_at_once(
        self,
        transactional_id: str,
        sender: ProducerIdentity,
        partitions: Collection[TopicPartition],
        version: int,
        outcome: Outcome,
    ) -> bool:
        """Add partitions whose logs are open, without waiting. True if they are in the transaction on disk; if not,
        `outcome` is called later.

        `outcome` may be called before this returns: then nothing was written, and the partitions are not in it.
        """
        shard, value = self.find(transactional_id)
        after = value.with_partitions(sender, partitions, self._clock.now_ms(), version)
        if after is value:
            return shard.when_flushed(outcome)
        shard.store(after, self._clock.now_ms(), outcome)
        return False

    def has_settled(self, transactional_id: str, sender: ProducerIdentity, place: TopicPartition) -> bool:
        """Whether the partition is in the sender's open transaction, and that is on disk: nothing is left to do."""
        try:
            shard, value = self.find(transactional_id)
        except KafkaError:
            return False
        is_open = value.state is TransactionState.ONGOING and value.identity == sender
        return is_open and place in value.partitions and shard.is_flushed

    async def _open_in_turns(self, places: Iterable[TopicPartition]) -> None:
        turns = Turns()
        for place in places:
            self._open_log(place)
            await turns.pause()

    def _open_log(self, place: TopicPartition) -> None:
        """Open the log, so that a transaction left open by a crash is aborted before this one writes there."""
        try:
            self._partitions.get(place.topic, place.partition)
        except (KafkaError, OSError) as error:
            self._repeats.warning("open", "%s-%d cannot be opened now: %r", place.topic, place.partition, error)

    def verify(self, transactional_id: str, sender: ProducerIdentity, place: TopicPartition) -> None:
        """KafkaError TRANSACTION_ABORTABLE if the partition was not added."""
        _, value = self.find(transactional_id)
        value.check_sender(sender)
        if value.state is not TransactionState.ONGOING or place not in value.partitions:
            raise KafkaError(ErrorCode.TRANSACTION_ABORTABLE)

    # --- the end -----------------------------------------------------------------------------------------------------

    async def end(
        self, transactional_id: str, sender: ProducerIdentity, *, commit: bool, version: int
    ) -> ProducerIdentity:
        """End a transaction. Returns the producer id and epoch for the client; the decision is on disk then."""
        shard, value = await self._find_at_rest(transactional_id)
        new_id = NO_PRODUCER_ID
        if version >= SECOND_GENERATION and value.is_exhausted and sender == value.identity:
            new_id = await self._new_producer_id()
            shard, value = self.find(transactional_id)
        after = value.ended(sender, commit=commit, now_ms=self._clock.now_ms(), version=version, new_producer_id=new_id)
        if after is value:
            return value.identity
        await self._prepare_end(shard, after)
        return after.completed(after.update_ms).identity

    async def abort(self, value: Transaction) -> Transaction:
        """Abort this transaction by hand, and fence its producer. Returns its value when the decision is on disk.

        KafkaError INVALID_TXN_STATE if it has ended meanwhile.
        """
        if value.state is not TransactionState.ONGOING or not await self.abort_open(value):
            raise KafkaError(ErrorCode.INVALID_TXN_STATE)
        await self.completions.wait(value.transactional_id)
        return self.find(value.transactional_id)[1]

    async def abort_open(self, value: Transaction) -> bool:
        """Fence the client of an ongoing transaction and abort it.

        False, without a change, if it has ended meanwhile.
        """
        new_id = NO_PRODUCER_ID
        if value.version >= SECOND_GENERATION and value.is_exhausted:
            new_id = await self._new_producer_id()
        shard, current = self.find(value.transactional_id)
        if current is not value:
            return False
        now_ms = self._clock.now_ms()
        prepared = value.fenced().prepared(commit=False, now_ms=now_ms, version=value.version, new_producer_id=new_id)
        await self._prepare_end(shard, prepared)
        return True

    async def _prepare_end(self, shard: TransactionShard, prepared: Transaction) -> None:
        """Store the decision; the completion then continues, whether or not the client is still connected."""
        self.completions.begin(prepared.transactional_id)

        def stored(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                pause_at("prepared")
                self.completions.finish(shard, prepared)
            else:
                self.completions.over(prepared.transactional_id)

        await self._stored(shard, prepared, stored)

    async def _stored(
        self, shard: TransactionShard, value: Transaction, then: Callable[[ErrorCode], None] | None = None
    ) -> None:
        future: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        resolve = resolving(future)

        def outcome(code: ErrorCode) -> None:
            if then is not None:
                then(code)
            resolve(code)

        shard.store(value, self._clock.now_ms(), outcome)
        await _success(future)


async def _success(future: asyncio.Future[ErrorCode]) -> None:
    """Wait for the outcome of a write; KafkaError if it failed."""
    code = await future
    if code is not ErrorCode.NONE:
        raise KafkaError(_write_error(code))


def _write_error(code: ErrorCode) -> ErrorCode:
    """The client's error for a failed write of the coordinator, as Kafka maps it."""
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE
