"""Transactions and their ends: requests that come late, ends that contradict each other, both generations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.peer import Answer, Peer
from tests.differential.script import script
from tests.differential.steps.topics import create, fetch_body, list_offset, wanted
from tests.differential.steps.transactions import Producer

SUCCESS, TXN_STATE, CONCURRENT = 0, 48, 51
Late = Callable[[str], None]


class _Flow:
    """One producer with its topic and group, in the versions of one generation."""

    def __init__(self, peer: Peer, produce_version: int) -> None:
        self.peer, self.version = peer, produce_version
        self.end_version, self.offsets_version = (5, 5) if produce_version >= 12 else (4, 3)
        self.topic, self.group = create(peer, "topic", partitions=2), peer.name("group")
        self._id = peer.topic_id(self.topic)
        self.tx = Producer(peer).init()
        peer.until(
            lambda: peer.quietly("find_coordinator", 3, {"key": self.group, "key_type": 0}),
            lambda answer: answer["error_code"] == SUCCESS,
        )

    def produce(self, label: str, sequence: int = 0, *, partition: int = 0, **changes: Any) -> None:
        body = self.tx.batch_body(self.topic, partition, base_sequence=sequence, **changes)
        row = {**body["topic_data"][0], "topic_id": self._id}
        self.peer.ask("produce", self.version, {**body, "topic_data": [row]}, label=label)

    def offsets(self, label: str, offset: int, **changes: Any) -> None:
        body = self.tx.offsets_body(self.group, self.topic, offset, **changes)
        self.peer.ask("txn_offset_commit", self.offsets_version, body, label=label)

    def end(self, label: str, *, commit: bool, **changes: Any) -> Answer:
        answer = self.peer.ask("end_txn", self.end_version, self.tx.end_body(commit=commit, **changes), label=label)
        self.tx.wait_for_end()
        return answer

    def late_requests(self, label: str, sequence: int, **old: Any) -> None:
        """Requests of an earlier transaction: repeated ones, and those that arrive late."""
        self.produce(f"{label}: a batch that is there", 0, **old)
        self.produce(f"{label}: the next batch", sequence, **old)
        self.produce(f"{label}: a batch elsewhere", 0, partition=1, **old)
        self.offsets(f"{label}: an offset", 99, **old)
        self.end(f"{label}: the same end", commit=True, **old)
        self.end(f"{label}: the opposite end", commit=False, **old)

    def look(self, label: str) -> None:
        peer, tx = self.peer, self.tx
        peer.ask("describe_transactions", 0, {"transactional_ids": [tx.transactional_id]}, label=label)
        rows = [{"name": self.topic, "partition_indexes": [0]}]
        body = {"group_id": self.group, "topics": rows, "require_stable": True}
        peer.ask("offset_fetch", 7, body, label=label)
        list_offset(peer, self.topic, -1, isolation=1, label=label)


def _second_generation(peer: Peer, produce_version: int) -> None:
    flow = _Flow(peer, produce_version)
    tx, first = flow.tx, flow.tx.epoch
    flow.produce("begins by itself")
    flow.offsets("an offset", 1)
    flow.produce("the second batch", 1)
    flow.look("open")
    tx.take(flow.end("commit", commit=True))
    flow.look("committed")
    flow.late_requests("late", 2, producer_epoch=first)
    flow.look("nothing has changed")
    flow.offsets("an offset begins the next", 2)
    flow.produce("the next transaction")
    flow.late_requests("late, in the next", 2, producer_epoch=first)
    flow.look("the next is still open")
    second = tx.epoch
    tx.take(flow.end("abort", commit=False))
    flow.end("the abort again", commit=False, producer_epoch=second)
    flow.end("a commit after the abort", commit=True, producer_epoch=second)
    flow.look("aborted")
    flow.produce("late: a batch of what was aborted", 1, producer_epoch=second)
    flow.offsets("late: an offset of what was aborted", 3, producer_epoch=second)
    flow.look("at the end")


for each in (12, 13):
    script(f"transaction-second-generation-v{each}", seconds=2, family="transaction-ends")(
        lambda peer, version=each: _second_generation(peer, version)  # type: ignore[misc]
    )


@script(
    "transaction-first-generation-late", seconds=1, family="transaction-ends", alone=True
)  # see produce-transactional
def first_generation_late(peer: Peer) -> None:
    """The epoch stays: nobody can tell a late request from one of the transaction that is open."""
    flow = _Flow(peer, 10)
    add = {**flow.tx.end_body(commit=True), "group_id": flow.group}
    for commit in (True, False):
        flow.tx.add(flow.topic, 0)
        assert peer.quietly("add_offsets_to_txn", 3, add)["error_code"] == SUCCESS
        flow.produce("a batch", 2 * (not commit))
        flow.offsets("an offset", 1 + (not commit))
        flow.end("the end", commit=commit)
        flow.produce("late: a batch", 1 + 2 * (not commit))
        flow.offsets("late: an offset", 99)
        flow.look("ended")
        flow.tx.add(flow.topic, 0)
        flow.produce("the next transaction", 1 + 2 * (not commit))
        flow.end("a late end ends it", commit=commit)
        flow.look("the next is over")
        flow.end("its own end", commit=commit)
        flow.end("the opposite end", commit=not commit)


@script("transaction-opposite-ends", seconds=2, family="transaction-ends")
def opposite_ends(peer: Peer) -> None:
    """A commit while an abort runs, and the reverse: sent at once, so that codes may depend on the moment."""
    for produce_version in (10, 12):
        for commit in (True, False):
            for on in ("main", "other"):
                _opposite(peer, produce_version, commit, on)


def _opposite(peer: Peer, produce_version: int, commit: bool, on: str) -> None:
    label = f"generation {1 + (produce_version >= 12)}, {'commit' if commit else 'abort'} first, {on} connection"
    tx = Producer(peer, f"tx-{produce_version}-{commit}-{on}").init()
    topic = create(peer, f"topic-{produce_version}-{commit}-{on}")
    if produce_version < 12:
        tx.add(topic, 0)
    peer.quietly("produce", produce_version, tx.batch_body(topic))
    version = 5 if produce_version >= 12 else 4
    peer.quietly("list_transactions", 0, {"state_filters": [], "producer_id_filters": []}, on=on)  # it is connected
    tickets = [
        peer.send("end_txn", version, tx.end_body(commit=commit)),
        peer.send("end_txn", version, tx.end_body(commit=not commit), on=on),
    ]
    codes = [peer.take_quietly(ticket)["error_code"] for ticket in tickets]
    tx.wait_for_end()
    winner = commit if codes[0] == SUCCESS else not commit
    peer.note(f"{label}: one is heard", codes.count(SUCCESS))
    peer.note(f"{label}: the other is refused", {*codes} - {SUCCESS} <= {TXN_STATE, CONCURRENT})
    peer.note(f"{label}: on one connection the first", on != "main" or codes[0] == SUCCESS)
    described = peer.quietly("describe_transactions", 0, {"transactional_ids": [tx.transactional_id]})
    state = described["transaction_states"][0]["transaction_state"]
    peer.note(f"{label}: it ended as it was told", state == ("CompleteCommit" if winner else "CompleteAbort"))
    answer = peer.quietly("fetch", 12, fetch_body({topic: [wanted(0)]}, isolation_level=1))
    aborted = answer["responses"][0]["partitions"][0]["aborted_transactions"]
    peer.note(f"{label}: and readers know", len(aborted) == (not winner))
