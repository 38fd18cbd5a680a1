"""Consume, transform, produce, exactly once: records, the messages made of them and their offsets in one transaction.

`Work` is the blocking part; consumers and their twins wrap it. The group's metadata is that of the moment at which
the records were taken: a member that has lost its partitions since is refused by the coordinator (KIP-447).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, Self

from confluent_kafka import Message

from penstock.sdk.arguments import checked_size
from penstock.sdk.errors import TransactionAborted
from penstock.sdk.formats import Value
from penstock.sdk.receiving import Receiving, offsets_after
from penstock.sdk.record import Record
from penstock.sdk.transactional import Transactional


class Work(Generic[Value]):
    def __init__(
        self, receiving: Receiving[Value], transactional: Transactional, max_records: int | None, timeout_s: float
    ) -> None:
        self._receiving = receiving
        self._transactional = transactional
        self._max_records = checked_size(max_records, receiving.options["max_poll_records"])
        self._timeout_s = timeout_s
        self._messages: list[Message] = []
        self._metadata: Any = None
        self.records: list[Record[Value]] = []
        self.is_committed = False

    def begin(self) -> None:
        """Begin a transaction; at the broker it is open from the first message on."""
        self._receiving.check_open()
        self._transactional.begin()
        try:
            self._receiving.fill(self._timeout_s, always=True)
            self.records, self._messages = self._receiving.take_many(self._max_records)
            self._metadata = self._receiving.library.consumer_group_metadata()
            if not self._receiving.library.memberid():
                self._pass()
        except BaseException:
            self.abort()
            raise

    def _pass(self) -> None:
        """Raise unless this is still a member: without an id, the broker would accept a commit from outside."""
        self._receiving.give_back(self._messages)
        self.records, self._messages = [], []

    def commit(self) -> None:
        try:
            self._transactional.commit(offsets_after(self._messages), self._metadata)
        except TransactionAborted:
            self._receiving.give_back(self._messages)
            raise
        self.is_committed = True

    def abort(self) -> None:
        try:
            if self._transactional.is_open:
                self._transactional.abort()
        finally:
            self._receiving.give_back(self._messages)


class Transaction(Generic[Value]):
    """The records of one transaction, to be iterated over within `with`. See `Consumer.transaction`."""

    def __init__(self, work: Work[Value]) -> None:
        self._work = work

    def __enter__(self) -> Self:
        self._work.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._work.commit()
        else:
            self._work.abort()

    def __iter__(self) -> Iterator[Record[Value]]:
        return iter(self._work.records)

    def __len__(self) -> int:
        return len(self._work.records)

    @property
    def is_committed(self) -> bool:
        """Whether everything in it took effect; False within `with`, and after an exception."""
        return self._work.is_committed
