"""A transactional producer of either protocol generation, one raw request at a time.

First generation (V1): partitions are added by AddPartitionsToTxn v3, batches go by Produce v10, EndTxn is v4. Second
(V2, KIP-890): Produce v12 adds them by itself, and EndTxn v5 returns the next epoch.
"""

from __future__ import annotations

import itertools
from operator import attrgetter
from typing import Any

from kio.schema.errors import ErrorCode

from penstock.model.batch_builder import NewRecord, build_batch
from tests.support.batches import now_ms
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

V1, V2 = 1, 2
_RETRIABLE = (
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
)


class TransactionClient:
    """One producer. Methods answer with error codes; `begin`, `send`, `end` in lower-level forms for wrong requests."""

    def __init__(self, client: RawClient, transactional_id: str, generation: int, *, timeout: int = 60_000) -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.generation = generation
        self.timeout = timeout
        self.producer_id, self.epoch = -1, -1
        self._sequences: dict[tuple[str, int], itertools.count[int]] = {}

    def find_coordinator(self) -> None:
        def found() -> bool:
            answer = self.client.call("find_coordinator", 3, key=self.transactional_id, key_type=1)
            return bool(answer.error_code == ErrorCode.none)

        wait_until(found, what="a transaction coordinator")

    def init_answer(self, version: int = 5, **values: Any) -> Any:
        values = {"producer_id": -1, "producer_epoch": -1, "transaction_timeout": self.timeout, **values}
        return self.client.call("init_producer_id", version, transactional_id=self.transactional_id, **values)

    def init(self, version: int = 5, **values: Any) -> TransactionClient:
        """Initialise, and wait until the coordinator is ready and an earlier transaction is aborted."""
        self.find_coordinator()
        answers: list[Any] = []

        def initialised() -> bool:
            answers.append(self.init_answer(version, **values))
            return answers[-1].error_code not in _RETRIABLE

        wait_until(initialised, what="InitProducerId")
        assert answers[-1].error_code == ErrorCode.none, answers[-1]
        self._take(answers[-1].producer_id, answers[-1].producer_epoch)
        return self

    def _take(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self._sequences = {}

    def add(self, topic: str, *partitions: int, version: int = 3, **wrong: Any) -> list[ErrorCode]:
        values = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            **{f"v3_and_below_{name}": value for name, value in wrong.items()},
        }
        topics = [{"name": topic, "partitions": list(partitions or (0,))}]
        answer = self.client.call("add_partitions_to_txn", version, v3_and_below_topics=topics, **values)
        (result,) = answer.results_by_topic_v3_and_below
        return [
            ErrorCode(each.partition_error_code)
            for each in sorted(result.results_by_partition, key=attrgetter("partition_index"))
        ]

    def produce(
        self, topic: str, *values: str, partition: int = 0, version: int | None = None, **options: Any
    ) -> ErrorCode:
        """One batch. Options: transactional_id, producer_id, epoch, sequence, transactional."""
        counts = self._sequences.setdefault((topic, partition), itertools.count())
        sequence = options.get("sequence")
        if sequence is None:
            sequence = next(counts)
            for _ in values[1:]:
                next(counts)
        batch = build_batch(
            [NewRecord(None, value.encode()) for value in values],
            timestamp=now_ms(),
            producer_id=options.get("producer_id", self.producer_id),
            producer_epoch=options.get("epoch", self.epoch),
            base_sequence=sequence,
            transactional=options.get("transactional", True),
        )
        if version is None:
            version = 12 if self.generation == V2 else 10
        request = self.client.produce_values(topic, bytes(batch), partition=partition)
        request["transactional_id"] = options.get("transactional_id", self.transactional_id)
        answer = self.client.call("produce", version, **request)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def send(self, topic: str, *values: str, partition: int = 0) -> None:
        """Send a batch that must be accepted."""
        if self.generation == V1:
            wait_until(
                lambda: self.add(topic, partition)[0] not in _RETRIABLE, what="the end of the transaction before"
            )
        codes: list[ErrorCode] = []
        sequence = next(self._sequences.setdefault((topic, partition), itertools.count()))
        for _ in values[1:]:
            next(self._sequences[topic, partition])

        def sent() -> bool:
            codes.append(self.produce(topic, *values, partition=partition, sequence=sequence))
            return codes[-1] not in _RETRIABLE

        wait_until(sent, what="Produce in a transaction")
        assert codes[-1] == ErrorCode.none, codes

    def add_offsets(self, group: str, version: int = 3) -> ErrorCode:
        values: dict[str, Any] = {"transactional_id": self.transactional_id, "group_id": group}
        values |= {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        return ErrorCode(self.client.call("add_offsets_to_txn", version, **values).error_code)

    def commit_offset(
        self, group: str, topic: str, offset: int, *, partition: int = 0, version: int | None = None, **values: Any
    ) -> ErrorCode:
        """TxnOffsetCommit. Values: member_id, generation_id, group_instance_id, and wrong ones."""
        version = version if version is not None else 5 if self.generation == V2 else 3
        row: dict[str, Any] = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
        if version >= 2:
            row["committed_leader_epoch"] = -1
        request: dict[str, Any] = {"transactional_id": self.transactional_id, "group_id": group}
        request |= {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        if version >= 3:
            request |= {"generation_id": -1, "member_id": "", "group_instance_id": None}
        topics = [{"name": topic, "partitions": [row]}]
        answer = self.client.call("txn_offset_commit", version, **request | values, topics=topics)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end_answer(self, *, commit: bool, version: int | None = None, **wrong: Any) -> Any:
        values = {"producer_id": self.producer_id, "producer_epoch": self.epoch, **wrong}
        version = version if version is not None else 5 if self.generation == V2 else 4
        return self.client.call("end_txn", version, transactional_id=self.transactional_id, committed=commit, **values)

    def end(self, *, commit: bool) -> None:
        answer = self.end_answer(commit=commit)
        assert answer.error_code == ErrorCode.none, answer
        if self.generation == V2:
            self._take(answer.producer_id, answer.producer_epoch)

    def commit(self) -> None:
        self.end(commit=True)

    def abort(self) -> None:
        self.end(commit=False)

    def describe(self) -> Any:
        answer = self.client.call("describe_transactions", 0, transactional_ids=[self.transactional_id])
        return answer.transaction_states[0]

    def wait_for(self, *states: str) -> None:
        wait_until(lambda: self.describe().transaction_state in states, what=f"{self.transactional_id} to be {states}")
