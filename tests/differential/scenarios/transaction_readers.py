"""Answers to read_committed consumers while transactions are open, and after they have ended."""

from __future__ import annotations

from tests.differential.peer import Peer
from tests.differential.script import advertised, script, versions
from tests.differential.steps.topics import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    create,
    fetch_body,
    list_offset,
    produce,
    values,
    wanted,
)
from tests.differential.steps.transactions import Producer

ISOLATIONS = (0, 1)
PRODUCE = 10


def _at(peer: Peer, number: int) -> int:
    """Times before those of all markers, and not so long ago that Kafka would begin another segment."""
    return peer.time(number - 1_000)


def _send(tx: Producer, topic: str, sequence: int, at: int, partition: int = 0) -> None:
    tx.add(topic, partition)
    body = tx.batch_body(topic, partition, base_sequence=sequence, at=_at(tx.peer, at))
    tx.peer.ask("produce", PRODUCE, body, label=f"in a transaction, at {at}")


def _fetch(peer: Peer, topic: str, offset: int, *, version: int = 12, isolation: int = 1, label: str) -> None:
    by_id = version >= 13
    named = peer.topic_id(topic) if by_id else topic
    body = fetch_body({named: [wanted(offset)]}, by_id=by_id, isolation_level=isolation)
    peer.ask("fetch", version, body, label=f"{label}: from {offset}, isolation {isolation}")


def _look(peer: Peer, topic: str, label: str) -> None:
    for isolation in ISOLATIONS:
        for mark in (LATEST, EARLIEST, MAX_TIMESTAMP):
            list_offset(peer, topic, mark, isolation=isolation, label=f"{label}: {mark}, isolation {isolation}")
        for number in (0, 2, 5, 8, 9, 99):
            said = f"{label}: at {number}, isolation {isolation}"
            list_offset(peer, topic, _at(peer, number), isolation=isolation, label=said)
    for offset in range(6):
        _fetch(peer, topic, offset, label=label)


@script("transaction-readers", seconds=3)
def transaction_readers(peer: Peer) -> None:
    """Two transactions side by side: one aborts, the other commits; the largest timestamp is in one, then behind it."""
    topic = create(peer, "topic")
    one, two = Producer(peer, "one").init(), Producer(peer, "two").init()
    produce(peer, topic, values("plain", at=_at(peer, 1)))
    _look(peer, topic, "nothing open")
    _send(one, topic, 0, 5)
    _look(peer, topic, "one open")
    _send(two, topic, 0, 3)
    produce(peer, topic, values("plain", at=_at(peer, 2)))
    _send(one, topic, 1, 8)
    _look(peer, topic, "both open")
    peer.tick()
    two.end(commit=False)
    _look(peer, topic, "the second aborted")
    peer.tick()
    one.end(commit=True)
    _look(peer, topic, "the first committed")
    _send(two, topic, 1, 9)
    _look(peer, topic, "one open behind all")
    peer.tick()
    two.end(commit=True)
    _look(peer, topic, "all over")


@script("transaction-readers-largest", seconds=2)
def transaction_readers_largest(peer: Peer) -> None:
    """The largest timestamp before, in and behind an open transaction."""
    for at, label in ((0, "before"), (5, "in it"), (9, "behind")):
        topic = create(peer, f"largest-{at}")
        tx = Producer(peer, f"tx-{at}").init()
        produce(peer, topic, values("plain", at=_at(peer, 3)))
        _send(tx, topic, 0, 5 if at else 2)
        produce(peer, topic, values("plain", at=_at(peer, 9 if at == 9 else 1)))
        for version in range(7, 12):
            for isolation in ISOLATIONS:
                list_offset(
                    peer, topic, MAX_TIMESTAMP, version=version, isolation=isolation, label=f"{label}, {isolation}"
                )
        tx.end(commit=False)
        list_offset(peer, topic, MAX_TIMESTAMP, LATEST, isolation=1)


@script("transaction-readers-versions", seconds=2)
def transaction_readers_versions(peer: Peer) -> None:
    """Every version of Fetch, where one transaction was aborted and another is open."""
    topic = create(peer, "topic")
    aborted, opened = Producer(peer, "aborted").init(), Producer(peer, "open").init()
    _send(aborted, topic, 0, 1)
    aborted.end(commit=False)
    _send(aborted, topic, 1, 2)
    aborted.end(commit=False)
    produce(peer, topic, values("plain", at=_at(peer, 3)))
    _send(opened, topic, 0, 4)
    for version in advertised("fetch"):
        for isolation in ISOLATIONS:
            for offset in (0, 2, 5):
                _fetch(peer, topic, offset, version=version, isolation=isolation, label="one aborted, one open")
    for version in range(2, 12):
        list_offset(peer, topic, LATEST, version=version, isolation=1)
        for number in (2, 4):
            list_offset(peer, topic, _at(peer, number), version=version, isolation=1, label=f"at {number}")
    opened.end(commit=True)


@versions("describe_producers", name="describe-producers-transactions")
def describe_producers_transactions(peer: Peer, version: int) -> None:
    topic = create(peer, "topic", partitions=2)
    one, two = Producer(peer, "one").init(), Producer(peer, "two").init()

    def ask(label: str) -> None:
        rows = [{"name": topic, "partition_indexes": [0, 1]}]
        peer.ask("describe_producers", version, {"topics": rows}, label=label)

    _send(one, topic, 0, 1)
    ask("one open")
    _send(two, topic, 0, 2)
    _send(one, topic, 1, 3)
    _send(one, topic, 0, 4, partition=1)
    ask("two open")
    one.end(commit=False)
    ask("one aborted")
    two.end(commit=True)
    ask("both ended")
    _send(two, topic, 1, 5)
    ask("the next is open")
    second = Producer(peer, "two").init()
    ask("a new producer had it aborted")
    _send(second, topic, 0, 6)
    ask("and has one open")
    second.end(commit=True)
