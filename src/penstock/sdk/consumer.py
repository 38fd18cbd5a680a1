"""`penstock.Consumer`: records in, one after the other. `AsyncConsumer` is its twin for asyncio."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Generic, Self, Unpack

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.arguments import checked_size
from penstock.sdk.errors import ClosedError, SettingsError, StateError
from penstock.sdk.formats import DeserializerChoice, Value
from penstock.sdk.options import ConsumerOptions, Start
from penstock.sdk.producer import Producer
from penstock.sdk.receiving import Receiving
from penstock.sdk.record import Record
from penstock.sdk.transaction import Transaction, Work

_POLL_S = 1.0


class Consumer(Generic[Value]):
    """Reader of topics, as a member of a group or, alone, of all partitions.

        with Consumer("127.0.0.1:9092", "orders", group="billing", value_deserializer="json") as consumer:
            for record in consumer:
                print(record.key, record.value)

    By default at least once: a record counts as handled when the next one is asked for, and handled records are
    committed every five seconds and at the end. `penstock.sdk.ConsumerOptions` lists the settings. For one thread;
    `stop` alone may be called from others and from signal handlers.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: str | Sequence[str],
        *,
        value_deserializer: DeserializerChoice[Value] = "bytes",
        key_deserializer: DeserializerChoice[Any] = "bytes",
        producer: Producer[Any] | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        has_producer = has_transactions(producer)
        self._receiving: Receiving[Value] = Receiving(
            bootstrap, topics, key_deserializer, value_deserializer, {**options}, has_producer=has_producer
        )
        self._producer = producer

    @property
    def options(self) -> ConsumerOptions:
        """The settings, with their defaults."""
        return self._receiving.options

    def __enter__(self) -> Self:
        self._receiving.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- records -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Self:
        self._receiving.check_open()
        return self

    def __next__(self) -> Record[Value]:
        idle, asked_at = self._receiving.idle, time.monotonic()
        while not self._receiving.is_stopped.is_set():
            remaining_s = idle.remaining_s(asked_at)
            record = self.poll(_POLL_S if remaining_s is None else min(_POLL_S, remaining_s))
            if record is not None:
                return record
            if idle.remaining_s(asked_at) == 0.0:
                break
        raise StopIteration

    def poll(self, timeout_s: float = _POLL_S) -> Record[Value] | None:
        """The next record, or None if none comes in time. Records given out before count as handled."""
        check_polled(self._receiving)
        self._receiving.finish()
        if not self._receiving.is_ready:
            self._receiving.fill(timeout_s)
        return self._receiving.take()

    def poll_batch(self, max_records: int | None = None, timeout_s: float = _POLL_S) -> list[Record[Value]]:
        """Several records at once, none if none come in time. All that were given out before count as handled."""
        size = checked_size(max_records, self._receiving.options["max_poll_records"])
        check_polled(self._receiving)
        self._receiving.finish()
        if not self._receiving.is_ready:
            self._receiving.fill(timeout_s)
        return self._receiving.take_many(size)[0]

    def transaction(self, max_records: int | None = None, timeout_s: float = _POLL_S) -> Transaction[Value]:
        """With delivery="exactly-once": records, messages that the producer sends meanwhile, offsets, all or nothing.

            with consumer.transaction() as records:
                for record in records:
                    producer.send("invoices", {"order": record.value["id"], "due": 30})

        After an exception within, nothing of it has happened, and the records come again with the next transaction. The
        same holds after TransactionAborted, which the end of the block raises when the group was rebalanced meanwhile.
        """
        if self._producer is None:
            raise StateError("this consumer has no transactions", hint="make it with delivery='exactly-once'")
        return Transaction(Work(self._receiving, self._producer.transactional, max_records, timeout_s))

    @property
    def skipped_count(self) -> int:
        """Records that `on_bad_record` has dealt with."""
        return self._receiving.reading.skipped_count

    # --- offsets and partitions --------------------------------------------------------------------------------------

    def commit(self, record: Record[Value] | None = None) -> None:
        """Commit everything that was given out, or all of a partition up to this record, and wait for it."""
        self._receiving.commit(record)

    def seek(self, topic: str, partition: int, to: Start) -> None:
        """Continue from an offset, a time, "earliest" or "latest", in a partition of this consumer."""
        self._receiving.seek(TopicPartition(topic, partition), to)

    def assignment(self) -> list[TopicPartition]:
        """The partitions of this consumer now; none before the first poll."""
        self._receiving.check_open()
        return sorted(self._receiving.membership.owned)

    def pause(self, *places: TopicPartition) -> None:
        """Stop reading these partitions, and stay in the group. Records that were fetched already still come."""
        self._receiving.pause(places)

    def resume(self, *places: TopicPartition) -> None:
        """Continue reading these partitions."""
        self._receiving.resume(places)

    # --- the end -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End the iteration soon. May be called from anywhere."""
        self._receiving.is_stopped.set()

    def close(self) -> None:
        """Commit the handled records and leave the group. Closing twice is not an error."""
        self._receiving.close()


def has_transactions(producer: Any) -> bool:
    if producer is None:
        return False
    if not producer.transactional.is_possible:
        hint = "make it with Producer(…, transactional_id='…')"
        raise SettingsError("the producer of this consumer has no transactional_id", hint=hint)
    return True


def check_polled(receiving: Receiving[Any]) -> None:
    if receiving.is_closed:
        raise ClosedError("this consumer is closed", hint="make a new one")
    if receiving.delivery == "exactly-once":
        raise StateError("with exactly-once, records come in transactions", hint="use `with consumer.transaction():`")
