"""Produce in transactions, each version: who may, where, and with which batches.

Kafka remembers the sequence of a batch that it refused to a producer that has none open there, and then refuses higher
ones. So each case has a partition of its own, or the sequence that is expected next.

Kafka asks the coordinator about batches of several connections at once, and then tells all of them what the version of
the first one knows: INVALID_TXN_STATE (48) or TRANSACTION_ABORTABLE (120). So these scripts run alone.
"""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import versions
from tests.differential.steps.transactions import Producer

MISSING = 99  # a partition that no topic here has


class _Asking:
    """Batches of one producer, each with the label of its case."""

    def __init__(self, peer: Peer, version: int) -> None:
        self.peer, self.version = peer, version
        self.topic = peer.topic("topic", partitions=20)
        self._id = peer.topic_id(self.topic)
        self._untouched = iter(range(1, 20))
        self.tx = Producer(peer).init()
        self.tx.take(peer.quietly("init_producer_id", 4, self.tx.init_body()))  # so that there is an epoch before

    def ask(self, label: str, *, partition: int | None = None, base_sequence: int = 0, **changes: Any) -> None:
        """In partition 0, or where nobody has been before."""
        index = next(self._untouched) if partition is None else partition
        body = self.tx.batch_body(self.topic, index, base_sequence=base_sequence, **changes)
        row = {**body["topic_data"][0], "topic_id": self._id}
        self.peer.ask("produce", self.version, {**body, "topic_data": [row]}, label=label)

    def strangers(self, label: str, *, partition: int | None = None, base_sequence: int = 0) -> None:
        """All who are not the producer of the transaction."""
        tx = self.tx
        where: dict[str, Any] = {"partition": partition, "base_sequence": base_sequence}
        self.ask(f"{label}: another producer", **where, producer_id=tx.producer_id + 999_999)
        self.ask(f"{label}: an epoch from the past", **where, producer_epoch=tx.epoch - 1)
        self.ask(f"{label}: an epoch from the future", **where, producer_epoch=tx.epoch + 1)
        self.ask(f"{label}: no transactional id", **where, name=None)

    def transaction(self, label: str) -> None:
        body = {"transactional_ids": [self.tx.transactional_id]}
        self.peer.ask("describe_transactions", 0, body, label=label)

    def state(self, label: str) -> None:
        self.transaction(label)
        rows = [{"name": self.topic, "partition_indexes": [0]}]
        self.peer.ask("describe_producers", 0, {"topics": rows}, label=label)


@versions("produce", name="produce-transactional", seconds=2, alone=True)
def produce_transactional(peer: Peer, version: int) -> None:
    asking = _Asking(peer, version)
    ask, tx = asking.ask, asking.tx
    asking.strangers("nothing is open")
    ask("nothing is open: an unknown transactional id", name=peer.name("unknown"))
    ask("nothing is open: an empty transactional id", name="")
    ask("nothing is open: a plain batch", transactional=False)
    ask("nothing is open: a plain batch without an id", transactional=False, name=None)
    if version < 12:
        ask("a partition that was not added")
    tx.add(asking.topic, 0)
    ask("open", partition=0)
    ask("open: a partition that was not added")
    ask("open: the same again", partition=0)
    ask("open: a gap", partition=0, base_sequence=7)
    ask("open: without a sequence", partition=0, base_sequence=-1)
    ask("open: a plain batch", partition=0, base_sequence=1, transactional=False)
    ask("open: a plain batch without an id", partition=0, base_sequence=1, transactional=False, name=None)
    ask("open: a plain batch elsewhere", transactional=False)
    ask("open: a plain batch without an id elsewhere", transactional=False, name=None)
    ask("open: a partition that does not exist", partition=MISSING)
    asking.strangers("open", partition=0, base_sequence=1)
    asking.strangers("open, elsewhere")
    ask("open: the next", partition=0, base_sequence=1)
    asking.state("open")
    tx.end(commit=True)
    asking.state("ended")
    ask("ended: the next", partition=0, base_sequence=2)
    ask("ended: a plain batch", partition=0, base_sequence=2 + (version >= 12), transactional=False)


@versions("produce", name="produce-transactional-oddities", seconds=1, alone=True)
def produce_transactional_oddities(peer: Peer, version: int) -> None:
    """The right producer under names that are not its own; batches with more than one fault; what a refusal leaves."""
    asking = _Asking(peer, version)
    refused = asking.tx.epoch + 1
    asking.ask("an epoch from the future", partition=1, producer_epoch=refused)
    asking.ask("a plain batch with a higher sequence", partition=1, base_sequence=3, transactional=False, name=None)
    asking.tx.add(asking.topic, 0)
    asking.ask("open", partition=0)
    asking.ask("open: an unknown transactional id", partition=0, base_sequence=1, name=peer.name("unknown"))
    asking.ask("open: an empty transactional id", partition=0, base_sequence=1, name="")
    asking.ask("open: without a sequence, in a partition that was not added", partition=2, base_sequence=-1)
    asking.transaction("open")
    asking.tx.end(commit=False)
