"""A client that writes in transactions, and notes what it tries and what comes of it.

Which keys, how many values, whether it commits an offset with them, and whether it ends with a commit or an abort is
decided by its seed. After trouble it aborts; if that does not work either, it begins a new life under the same
transactional id, as applications do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from random import Random

from penstock.testing.consistency.history import End, OffsetCommit, Outcome, Transaction, Write
from penstock.testing.consistency.history_file import Recorder, now
from tests.chaos.clients.transactional import Message, Refused, Settings, TransactionalClient, Trouble
from tests.chaos.plan import ABORT_SHARE, KEYS, OFFSET_SHARE, WRITES_MAX, partition_of
from tests.chaos.plan import OFFSETS_PARTITION as WHERE

REST_SECONDS = 0.3


class Transactor:
    def __init__(
        self,
        make: Callable[[], TransactionalClient],
        settings: Settings,
        recorder: Recorder,
        random: Random,
        *,
        first_offset: int,
        pause_seconds: float,
    ) -> None:
        self._make = make
        self._settings = settings
        self._recorder = recorder
        self._random = random
        self._pause_seconds = pause_seconds
        self._next_offset = first_offset
        self._values = 0
        self._producers = 0
        self._client: TransactionalClient | None = None

    def run(self, leaving: Callable[[], bool]) -> None:
        while not leaving():
            try:
                self._one_transaction(self._ready())
            except (Trouble, Refused):
                self._drop()
                time.sleep(REST_SECONDS)
            time.sleep(self._random.random() * self._pause_seconds)
        self._drop()

    def _ready(self) -> TransactionalClient:
        if self._client is None:
            self._producers += 1
            self._client = self._make()
            self._client.start()
        return self._client

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _one_transaction(self, client: TransactionalClient) -> None:
        number = self._recorder.number()
        transaction = Transaction(
            client=self._recorder.client,
            number=number,
            started=now(),
            name=f"{self._recorder.client}/{number}",
            transactional_id=self._settings.transactional_id,
            generation=client.generation,
            producer=self._producers,
        )
        wants_commit = self._random.random() >= ABORT_SHARE
        self._recorder.note(transaction)
        try:
            client.begin()
            for _ in range(self._random.randint(1, 2)):
                self._write(client, transaction)
            if self._random.random() < OFFSET_SHARE:
                self._commit_offset(client, transaction)
        except (Trouble, Refused):
            wants_commit = False
        self._end(client, transaction, End.COMMIT if wants_commit else End.ABORT)

    def _write(self, client: TransactionalClient, transaction: Transaction) -> None:
        messages = self._messages()
        writes = [
            Write(
                client=self._recorder.client,
                number=self._recorder.number(),
                started=now(),
                topic=message.topic,
                partition_index=message.partition_index,
                value=message.value,
                transaction=transaction.name,
            )
            for message in messages
        ]
        self._recorder.note(*writes)
        deliveries = client.send(messages)
        ended = now()
        self._recorder.note(
            *(
                replace(write, outcome=delivery.outcome, offset=delivery.offset, ended=ended)
                for write, delivery in zip(writes, deliveries, strict=True)
                if delivery.outcome is Outcome.OK
            )
        )
        if any(delivery.outcome is not Outcome.OK for delivery in deliveries):
            raise Trouble("not everything was acknowledged")

    def _messages(self) -> list[Message]:
        found = []
        for _ in range(self._random.randint(1, WRITES_MAX)):
            key = self._random.choice(KEYS)
            self._values += 1
            found.append(Message(*partition_of(key), key, f"{self._recorder.client}:{self._values}"))
        return found

    def _commit_offset(self, client: TransactionalClient, transaction: Transaction) -> None:
        self._next_offset += 1
        commit = OffsetCommit(
            client=self._recorder.client,
            number=self._recorder.number(),
            started=now(),
            group=self._settings.group,
            topic=WHERE.topic,
            partition_index=WHERE.partition_index,
            offset=self._next_offset,
            transaction=transaction.name,
        )
        self._recorder.note(commit)
        client.send_offset(WHERE.topic, WHERE.partition_index, self._next_offset)
        self._recorder.note(replace(commit, outcome=Outcome.OK, ended=now()))

    def _end(self, client: TransactionalClient, transaction: Transaction, end: End) -> None:
        asked = replace(transaction, end=end, end_started=now())
        self._recorder.note(asked)
        try:
            if end is End.COMMIT:
                client.commit()
            else:
                client.abort()
        except Refused:
            self._recorder.note(replace(asked, outcome=Outcome.FAIL, ended=now()))
            raise
        self._recorder.note(replace(asked, outcome=Outcome.OK, ended=now()))
