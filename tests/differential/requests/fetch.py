"""Fetch: places, limits and epochs of single requests; sessions are a scenario."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.requests.topics import NO_SUCH_ID
from tests.differential.script import script, versions
from tests.support.batches import values


def fill(peer: Peer, topic: str, *texts: str, partition: int = 0) -> None:
    """One batch for each text, a second apart."""
    for number, text in enumerate(texts):
        data = {"index": partition, "records": values(text, base_timestamp_ms=peer.time(1_000 * number))}
        body = {"acks": -1, "timeout": 10_000, "topic_data": [{"name": topic, "partition_data": [data]}]}
        answer = peer.quietly("produce", 9, body)
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0, answer


def place(offset: int, *, partition: int = 0, limit: int = 1 << 20, **changes: Any) -> dict[str, Any]:
    return {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": limit,
        **changes,
    }


def fetch_body(*topics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 24,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": list(topics),
        "forgotten_topics_data": [],
        **changes,
    }


@versions("fetch", seconds=2)
def fetch(peer: Peer, version: int) -> None:
    topic, empty = peer.topic("topic", partitions=2), peer.topic("empty")
    fill(peer, topic, "one", "two", "three")
    ids = {topic: peer.topic_id(topic), empty: peer.topic_id(empty)}

    def at(name: str, *places: dict[str, Any]) -> dict[str, Any]:
        return {"topic": name, "topic_id": ids.get(name, NO_SUCH_ID), "partitions": list(places)}

    def ask(label: str, *topics: dict[str, Any], **changes: Any) -> None:
        peer.ask("fetch", version, fetch_body(*topics, **changes), label=label)

    ask("no topics")
    ask("no partitions", at(topic))
    ask("from the start", at(topic, place(0)))
    ask("from the middle", at(topic, place(1)))
    ask("at the end", at(topic, place(3)))
    ask("past the end", at(topic, place(4)))
    ask("before the start", at(topic, place(-1)))
    ask("far past the end", at(topic, place(1 << 62)))
    ask("two partitions", at(topic, place(0), place(0, partition=1)))
    ask("two topics", at(topic, place(2)), at(empty, place(0)))
    ask("a partition twice", at(topic, place(0), place(2)))
    ask("read committed", at(topic, place(0)), isolation_level=1)
    ask("an isolation level of 2", at(topic, place(0)), isolation_level=2)
    ask("a replica", at(topic, place(0)), replica_id=-2, replica_state={"replica_id": -2, "replica_epoch": -1})
    ask("one byte of the partition", at(topic, place(0, limit=1)))
    ask("no bytes of the partition", at(topic, place(0, limit=0)))
    ask("one byte in all", at(topic, place(0)), max_bytes=1)
    ask("no bytes in all", at(topic, place(0)), max_bytes=0)
    ask("no wait for many bytes", at(topic, place(0)), min_bytes=1 << 20)
    ask("a short wait at the end", at(topic, place(3)), max_wait=50)
    ask("no minimum", at(topic, place(3)), min_bytes=0, max_wait=5_000)
    ask("a negative minimum", at(topic, place(3)), min_bytes=-1, max_wait=5_000)
    ask("a negative wait", at(topic, place(3)), max_wait=-1)
    ask("unknown topic", at(peer.name("unknown"), place(0)))
    ask("unknown partition", at(topic, place(0, partition=7)))
    ask("partition -1", at(topic, place(0, partition=-1)))
    ask("known and unknown", at(peer.name("unknown"), place(0)), at(topic, place(2)))
    ask("a bad name", at("a/b", place(0)))
    if version >= 9:
        ask("the epoch of the leader", at(topic, place(2, current_leader_epoch=0)))
        ask("a newer epoch", at(topic, place(2, current_leader_epoch=1)))
        ask("epoch -2", at(topic, place(2, current_leader_epoch=-2)))
    if version >= 12:
        ask("the last epoch seen", at(topic, place(2, last_fetched_epoch=0)))
        ask("a last epoch that is newer", at(topic, place(2, last_fetched_epoch=1)))
        ask("a cluster id", at(topic, place(2)), cluster_id="another")
    _sessions(ask, version, at(topic, place(3)))


def _sessions(ask: Any, version: int, topic: dict[str, Any]) -> None:
    if version < 7:
        return
    ask("a session that is not there", topic, session_id=77, session_epoch=1)
    ask("a session of epoch 0", topic, session_id=0, session_epoch=0)
    ask("an old session is given up", topic, session_id=77, session_epoch=0)
    ask("a session closed", topic, session_id=77, session_epoch=-1)
    ask("no session, epoch 5", topic, session_id=0, session_epoch=5)
    ask("no session, epoch -2", topic, session_id=0, session_epoch=-2)
    forgotten = [{"topic": topic["topic"], "topic_id": topic["topic_id"], "partitions": [0]}]
    ask("forgets outside a session", topic, forgotten_topics_data=forgotten)


@versions("fetch", name="fetch-isolation", seconds=1)
def fetch_isolation(peer: Peer, version: int) -> None:
    """An isolation level that does not exist: what fails with it, and what does not."""
    topic = peer.topic("topic", partitions=2)
    fill(peer, topic, "one")
    ids = {topic: peer.topic_id(topic)}

    def at(name: str, *places: dict[str, Any]) -> dict[str, Any]:
        return {"topic": name, "topic_id": ids.get(name, NO_SUCH_ID), "partitions": list(places)}

    def ask(label: str, *topics: dict[str, Any], level: int = 2, **changes: Any) -> Any:
        return peer.ask("fetch", version, fetch_body(*topics, isolation_level=level, **changes), label=label)

    ask("no topics")
    ask("an unknown topic", at(peer.name("unknown"), place(0)))
    ask("an unknown partition", at(topic, place(0, partition=7)))
    ask("known and unknown", at(peer.name("unknown"), place(0)), at(topic, place(0)))
    ask("two partitions", at(topic, place(0), place(0, partition=1)))
    ask("a partition twice", at(topic, place(0), place(1)))
    ask("past the end", at(topic, place(5)))
    ask("does not wait", at(topic, place(1)), level=-1, max_wait=5_000)
    if version >= 7:
        ask("a session that is not there", at(topic, place(0)), session_id=77, session_epoch=1)
        ask("begins a session", at(topic, place(1)), session_epoch=0)
        session = ask("a session with a right level", at(topic, place(1)), level=0, session_epoch=0)["session_id"]
        ask("in the session", session_id=session, session_epoch=1)
        ask("the epoch has gone on", level=0, session_id=session, session_epoch=1)
        ask("the next epoch", level=0, session_id=session, session_epoch=2)


@script("fetch-limits", seconds=3)
def fetch_limits(peer: Peer) -> None:
    """Byte limits over several partitions: who gets how much."""
    topic = peer.topic("topic", partitions=3)
    for partition in range(3):
        fill(peer, topic, "a" * 100, "b" * 100, "c" * 100, partition=partition)
    for limit in (1, 100, 170, 340, 500, 700, 1_000, 2_000):
        places = [place(0, partition=index) for index in (2, 0, 1)]
        body = fetch_body({"topic": topic, "partitions": places}, max_bytes=limit)
        peer.ask("fetch", 12, body, label=f"{limit} bytes in all")
        places = [place(0, partition=index, limit=limit) for index in (2, 0, 1)]
        peer.ask("fetch", 12, fetch_body({"topic": topic, "partitions": places}), label=f"{limit} bytes each")
    for first in (0, 3, 4):
        places = [place(first, limit=-1), place(0, partition=1, limit=170)]
        label = f"-1 bytes of the first, from {first}"
        peer.ask("fetch", 12, fetch_body({"topic": topic, "partitions": places}), label=label)
        places = [place(first, limit=170), place(0, partition=1, limit=170)]
        label = f"-1 bytes of two, from {first}"
        peer.ask("fetch", 12, fetch_body({"topic": topic, "partitions": places}, max_bytes=-1), label=label)
    for limit in (-1, -(1 << 31)):
        body = fetch_body({"topic": topic, "partitions": [place(0, limit=limit)]})
        peer.ask("fetch", 12, body, label=f"{limit} bytes of the partition")
        body = fetch_body({"topic": topic, "partitions": [place(0)]}, max_bytes=limit)
        peer.ask("fetch", 12, body, label=f"{limit} bytes in all")
