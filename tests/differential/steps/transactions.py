"""A transactional producer for scripts: what leads up to the requests that are compared."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from penstock.model.batch_builder import NewRecord, build_batch
from tests.differential.peer import Answer, Peer

OWN_NAME = "(its own)"
TRY_AGAIN = frozenset({14, 15, 16, 51})  # loading, not available, not the coordinator, concurrent transactions


class Producer:
    """Quiet unless it is told to record: `ask` is for that. Requests are those of the first generation."""

    def __init__(self, peer: Peer, base: str = "tx", *, timeout: int = 60_000) -> None:
        self.peer = peer
        self.transactional_id = peer.name(base)
        self.timeout = timeout
        self.producer_id, self.epoch = -1, -1
        self._sequences: dict[tuple[str, int], itertools.count[int]] = {}

    def init(self) -> Producer:
        peer = self.peer
        find = {"key": self.transactional_id, "key_type": 1}
        _until(lambda: peer.quietly("find_coordinator", 3, find))
        answer = _until(lambda: peer.quietly("init_producer_id", 4, self.init_body()))
        assert answer["error_code"] == 0, answer
        self.take(answer)
        return self

    def init_body(self, **changes: Any) -> Mapping[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "transaction_timeout": self.timeout,
            "producer_id": -1,
            "producer_epoch": -1,
            **changes,
        }

    def take(self, answer: Answer) -> None:
        self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        self._sequences = {}

    def add(self, topic: str, *partitions: int) -> None:
        body = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [{"name": topic, "partitions": list(partitions or (0,))}],
        }

        def ask() -> Answer:
            answer = self.peer.quietly("add_partitions_to_txn", 3, body)
            rows = answer["results_by_topic_v3_and_below"][0]["results_by_partition"]
            return {"error_code": max(row["partition_error_code"] for row in rows)}

        assert _until(ask)["error_code"] == 0

    def produce_body(self, topic: str, partition: int = 0, **changes: Any) -> Mapping[str, Any]:
        sequence = next(self._sequences.setdefault((topic, partition), itertools.count()))
        return self.batch_body(topic, partition, base_sequence=sequence, **changes)

    def batch_body(
        self, topic: str, partition: int = 0, *, name: str | None = OWN_NAME, at: int | None = None, **changes: Any
    ) -> Mapping[str, Any]:
        """Produce of one batch exactly as told: under any name, `changes` being what `build_batch` takes."""
        fields = {
            "producer_id": self.producer_id, "producer_epoch": self.epoch, "base_sequence": 0, "transactional": True,
            "timestamp": self.peer.time() if at is None else at, **changes,
        }  # fmt: skip
        records = bytes(build_batch([NewRecord(None, b"v")], **fields))
        return {
            "transactional_id": self.transactional_id if name == OWN_NAME else name,
            "acks": -1,
            "timeout": 10_000,
            "topic_data": [{"name": topic, "partition_data": [{"index": partition, "records": records}]}],
        }

    def offsets_body(self, group: str, topic: str, offset: int, **changes: Any) -> Mapping[str, Any]:
        row = {
            "partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": "m",
        }  # fmt: skip
        return {
            "transactional_id": self.transactional_id, "group_id": group, "producer_id": self.producer_id,
            "producer_epoch": self.epoch, "generation_id": -1, "member_id": "", "group_instance_id": None,
            "topics": [{"name": topic, "partitions": [row]}], **changes,
        }  # fmt: skip

    def send(self, topic: str, *partitions: int) -> None:
        """In a transaction, which begins with it if there is none."""
        for partition in partitions or (0,):
            self.add(topic, partition)
            body = self.produce_body(topic, partition)
            answer = self.peer.quietly("produce", 10, body)
            assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0, answer

    def end_body(self, *, commit: bool, **changes: Any) -> Mapping[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": commit,
            **changes,
        }

    def end(self, *, commit: bool) -> None:
        answer = _until(lambda: self.peer.quietly("end_txn", 4, self.end_body(commit=commit)))
        assert answer["error_code"] == 0, answer
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Until the markers are written: a harmless request is not sent away any more."""
        body = {"transactional_ids": [self.transactional_id]}

        def ask() -> Answer:
            states = self.peer.quietly("describe_transactions", 0, body).get("transaction_states")
            # Without a transaction yet the answer has a time of -1, which kio does not read.
            is_ending = states is not None and states[0]["transaction_state"].startswith("Prepare")
            return {"error_code": 51 if is_ending else 0}

        _until(ask)


def _until(ask: Any) -> Answer:
    import time

    deadline = time.monotonic() + 20
    while True:
        answer: Answer = ask()
        if answer.get("error_code", 0) not in TRY_AGAIN or time.monotonic() > deadline:
            return answer
        time.sleep(0.02)
