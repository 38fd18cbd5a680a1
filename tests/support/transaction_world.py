"""A transaction coordinator in a small world: real tables and producer states over logs in memory (`group_world`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.broker.transactions.transaction import ProducerIdentity, Transaction
from penstock.config.settings import TransactionSettings
from penstock.model.batch import BatchHeader, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, build_marker, parse_marker
from penstock.model.errors import ErrorCode
from penstock.model.ids import PartitionId
from penstock.model.topic_name import TRANSACTION_STATE
from penstock.model.topic_partition import TopicPartition
from penstock.storage.admission.producer_state import Producers
from penstock.storage.interface import Appended, LogConfig, OpenTransaction, ProducerView
from tests.support.group_world import HandEngine, HandLog, World


class ProducingLog(HandLog):
    """A log in memory with the producer state of a real log."""

    def __init__(self, topic: str, partition: PartitionId, config: LogConfig) -> None:
        super().__init__(topic, partition, config)
        self.state_of_producers = Producers()

    def stable_end(self, below: int) -> int:
        return self.state_of_producers.transactions.stable_end(below)

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        is_idempotent = header.producer_id >= 0 and not header.is_control
        if is_idempotent:
            seen = self.state_of_producers.check(header)
            if seen is not None:
                return Appended(seen.base_offset, seen.last_offset, seen.append_time_ms, True)
        appended = self.write(batch, header)
        if is_idempotent:
            self.state_of_producers.note(header, appended.base_offset, -1, now_ms)
        self.flush_at_once()
        return appended

    append_trusted = append

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        self.state_of_producers.check_marker(marker)
        batch = build_marker(marker, now_ms)
        appended = self.write(batch, read_header(batch))
        self.state_of_producers.note_marker(marker, appended.base_offset, now_ms, now_ms)
        self.flush_at_once()
        return appended

    def open_transactions(self) -> list[OpenTransaction]:
        return self.state_of_producers.open_transactions()

    def producer(self, producer_id: int) -> ProducerView | None:
        return self.state_of_producers.view(producer_id)

    def producers(self) -> Sequence[ProducerView]:
        return self.state_of_producers.views()

    def lose_unflushed(self) -> None:
        super().lose_unflushed()
        self.state_of_producers = Producers()
        for batch in self.batches:
            header = read_header(batch)
            marker = parse_marker(batch, header) if header.is_control else None
            self.state_of_producers.replay(header, marker, 0)

    @property
    def markers(self) -> list[Marker]:
        found = [parse_marker(batch, read_header(batch)) for batch in self.batches if read_header(batch).is_control]
        return [marker for marker in found if marker is not None]


class ProducingEngine(HandEngine):
    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        self.logs.setdefault(partition, ProducingLog(topic, partition, config))
        super().declare(topic, partition, config, leader_epoch)


class TransactionWorld(World):
    """One boot of a node, as far as transactions need one. Flushes are at once unless they are held."""

    def __init__(self, **parts: Any) -> None:
        self._ids: Iterator[int] = parts.pop("ids", None) or itertools.count(1000, 1000)
        self._settings: TransactionSettings = parts.pop("settings", None) or TransactionSettings(topic_partitions=2)
        super().__init__(**{"engine": ProducingEngine(), **parts})

        async def next_block(size: int) -> int:
            return next(self._ids)

        self.transactions = TransactionCoordinator(
            settings=self._settings,
            partitions=self.partitions,
            topics=self.topics,
            controller=self.controller,
            clock=self.clock,
            producer_ids=ProducerIds(next_block),
            on_offsets_ended=self.groups.end_transaction,
        )

    async def __aenter__(self) -> TransactionWorld:
        await super().__aenter__()
        await self.transactions.start()
        await self.transactions.loaded()
        return self

    async def __aexit__(self, *parts: object) -> None:
        await self.transactions.stop()
        await super().__aexit__(*parts)

    def restarted(self) -> TransactionWorld:
        for log in self.engine.logs.values():
            log.lose_unflushed()
        return TransactionWorld(
            engine=self.engine, store=self.store, clock=self.clock, ids=self._ids, settings=self._settings
        )

    def of(self, transactional_id: str) -> Transaction:
        return self.transactions.find(transactional_id)[1]

    def log(self, place: TopicPartition) -> ProducingLog:
        log = self.log_of(*place)
        assert isinstance(log, ProducingLog)
        return log

    def state_log(self, transactional_id: str) -> ProducingLog:
        """The log in which an id is kept."""
        shard = self.transactions.shard_of(transactional_id)
        assert shard is not None
        return self.log(TopicPartition(TRANSACTION_STATE, shard.partition.index))

    def write(self, place: TopicPartition, sender: ProducerIdentity, sequence: int = 0) -> None:
        """A transactional batch of one record, straight into the log."""
        batch = build_batch(
            [NewRecord(None, b"value")],
            timestamp=self.clock.now_ms(),
            producer_id=sender.producer_id,
            producer_epoch=sender.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        self.partitions.get(*place).append(batch, read_header(batch), self.clock.now_ms())


class Outcomes(list[ErrorCode]):
    """The outcomes that were reported."""

    def __call__(self, code: ErrorCode) -> None:
        self.append(code)
