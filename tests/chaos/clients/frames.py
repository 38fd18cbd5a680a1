"""The second generation of the protocol frame by frame, without a library: nothing is sent twice behind its back.

Produce v12 and TxnOffsetCommit v5 add their partitions to the transaction, EndTxn v5 returns the epoch of the next one,
with which sequences begin at 0 again (KIP-890). Errors that say "not now" are tried again for as long as the broker
certainly did nothing; anything else ends the client's life.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kio.schema.errors import ErrorCode

from penstock.testing.consistency.history import Generation, Outcome
from tests.chaos.clients.transactional import PATIENCE_SECONDS, Delivery, Message, Refused, Settings, Trouble
from tests.support.batches import TRANSACTIONAL, Record, batch
from tests.support.raw_client import RawClient
from tests.support.wire import ConnectionClosed

NOT_NOW = (
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
)
NO = (ErrorCode.invalid_producer_epoch, ErrorCode.producer_fenced, ErrorCode.invalid_txn_state)
RETRY_SECONDS = 0.02


class FramesClient:
    generation = Generation.V2

    def __init__(self, settings: Settings) -> None:
        host, port = settings.bootstrap.rsplit(":", 1)
        self._settings = settings
        try:
            self._raw = RawClient(host, int(port), timeout_s=PATIENCE_SECONDS)
        except OSError as error:
            raise Trouble(repr(error)) from error
        self._producer_id, self._epoch = -1, -1
        self._sequences: dict[tuple[str, int], int] = {}

    def start(self) -> None:
        self._call("find_coordinator", 2, lambda a: a.error_code, key=self._settings.transactional_id, key_type=1)
        answer = self._call(
            "init_producer_id",
            5,
            lambda a: a.error_code,
            transactional_id=self._settings.transactional_id,
            transaction_timeout=self._settings.timeout_ms,
            producer_id=-1,
            producer_epoch=-1,
        )
        self._take(answer)

    def _take(self, answer: Any) -> None:
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch
        self._sequences = {}

    def begin(self) -> None:
        """Nothing to tell the broker: the first write begins it."""

    def send(self, messages: list[Message]) -> list[Delivery]:
        """One batch a message, so that many requests are in a transaction."""
        return [self._produce(message) for message in messages]

    def _produce(self, message: Message) -> Delivery:
        where = (message.topic, message.partition_index)
        sequence = self._sequences.get(where, 0)
        records = batch(
            [Record(key=message.key.encode(), value=message.value.encode())],
            attributes=TRANSACTIONAL,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=sequence,
        )
        values = self._raw.produce_values(message.topic, records, partition=message.partition_index)
        values["transactional_id"] = self._settings.transactional_id
        answer = self._call("produce", 12, lambda a: a.responses[0].partition_responses[0].error_code, **values)
        self._sequences[where] = sequence + 1
        return Delivery(Outcome.OK, answer.responses[0].partition_responses[0].base_offset)

    def send_offset(self, topic: str, partition_index: int, offset: int) -> None:
        partition = {"partition_index": partition_index, "committed_offset": offset, "committed_metadata": ""}
        self._call(
            "txn_offset_commit",
            5,
            lambda a: a.topics[0].partitions[0].error_code,
            transactional_id=self._settings.transactional_id,
            group_id=self._settings.group,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            topics=[{"name": topic, "partitions": [partition]}],
        )

    def commit(self) -> None:
        self._end(committed=True)

    def abort(self) -> None:
        self._end(committed=False)

    def _end(self, *, committed: bool) -> None:
        answer = self._call(
            "end_txn",
            5,
            lambda a: a.error_code,
            transactional_id=self._settings.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=committed,
        )
        self._take(answer)

    def close(self) -> None:
        self._raw.close()

    def _call(self, api: str, version: int, code_of: Callable[[Any], ErrorCode], **values: Any) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self._raw.call(api, version, **values)
            except (OSError, ConnectionClosed) as error:
                raise Trouble(repr(error)) from error
            code = code_of(answer)
            if code == ErrorCode.none:
                return answer
            if code in NO:
                raise Refused(f"{api}: {code.name}")
            if code not in NOT_NOW or time.monotonic() > deadline:
                raise Trouble(f"{api}: {code.name}")
            time.sleep(RETRY_SECONDS)
