"""The requests of transactions, each version: right ones, and every way in which they can be wrong."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import versions
from tests.differential.steps.transactions import Producer

MISSING = 7  # a partition that no topic here has


@versions("init_producer_id", name="init-transactional-id", seconds=2)
def init_transactional_id(peer: Peer, version: int) -> None:
    topic = peer.topic()
    tx = Producer(peer).init()

    def ask(label: str, **changes: Any) -> Any:
        return peer.ask("init_producer_id", version, tx.init_body(**changes), label=label)

    ask("the next epoch")
    ask("and the next")
    ask("a timeout of 0", transaction_timeout=0)
    ask("a negative timeout", transaction_timeout=-1)
    ask("a timeout above the largest", transaction_timeout=900_001)
    ask("the largest timeout", transaction_timeout=900_000)
    ask("an empty id", transactional_id="")
    if version >= 3:
        tx.init()
        ask("offered: what it is", producer_id=tx.producer_id, producer_epoch=tx.epoch)
        ask("offered again, the answer was lost", producer_id=tx.producer_id, producer_epoch=tx.epoch)
        ask("offered: an older epoch", producer_id=tx.producer_id, producer_epoch=0)
        ask("offered: an epoch from the future", producer_id=tx.producer_id, producer_epoch=tx.epoch + 9)
        ask("offered: another producer", producer_id=tx.producer_id + 999_999, producer_epoch=0)
        ask("offered: an id without an epoch", producer_id=tx.producer_id, producer_epoch=-1)
    tx.init()
    tx.send(topic)
    ask("while a transaction is open")
    peer.until(lambda: ask("after its abort"), lambda answer: answer["error_code"] != 51)


@versions("add_partitions_to_txn", seconds=2)
def add_partitions_to_txn(peer: Peer, version: int) -> None:
    topic, other = peer.topic("a", partitions=3), peer.topic("b")
    tx = Producer(peer).init()

    def ask(label: str, *topics: tuple[str, list[int]], verify_only: bool = False, **wrong: Any) -> None:
        who = {
            "transactional_id": tx.transactional_id, "producer_id": tx.producer_id, "producer_epoch": tx.epoch, **wrong,
        }  # fmt: skip
        rows = [{"name": name, "partitions": partitions} for name, partitions in topics]
        if version < 4:
            body = {f"v3_and_below_{name}": value for name, value in who.items()} | {"v3_and_below_topics": rows}
        else:
            body = {"transactions": [{**who, "verify_only": verify_only, "topics": rows}]}
        peer.ask("add_partitions_to_txn", version, body, label=label)

    ask("no topics")
    ask("a topic that does not exist", (peer.name("nothing"), [0]))
    ask("a partition that does not exist, and two that do", (topic, [0, MISSING, 1]))
    if version >= 4:
        ask("verified: not added", (topic, [0]), verify_only=True)
    ask("one partition", (topic, [0]))
    ask("the same again", (topic, [0]))
    ask("two topics", (topic, [1, 2]), (other, [0]))
    if version >= 4:
        ask("verified: added", (topic, [0, 1]), (other, [0]), verify_only=True)
        ask("verified: by a stranger", (topic, [0]), verify_only=True, producer_epoch=tx.epoch + 1)
    ask("another producer", (topic, [0]), producer_id=tx.producer_id + 999_999)
    ask("an epoch from the past", (topic, [0]), producer_epoch=tx.epoch - 1)
    ask("an epoch from the future", (topic, [0]), producer_epoch=tx.epoch + 1)
    ask("an unknown id", (topic, [0]), transactional_id=peer.name("unknown"))
    ask("an empty id", (topic, [0]), transactional_id="")
    tx.end(commit=True)
    ask("after the end: the next one begins", (topic, [0]))
    tx.end(commit=False)


@versions("add_offsets_to_txn", seconds=2)
def add_offsets_to_txn(peer: Peer, version: int) -> None:
    tx = Producer(peer).init()
    group = peer.name("group")
    peer.until(
        lambda: peer.quietly("find_coordinator", 3, {"key": group, "key_type": 0}),
        lambda answer: answer["error_code"] == 0,
    )

    def ask(label: str, **wrong: Any) -> None:
        body = {
            "transactional_id": tx.transactional_id, "producer_id": tx.producer_id, "producer_epoch": tx.epoch,
            "group_id": group, **wrong,
        }  # fmt: skip
        peer.ask("add_offsets_to_txn", version, body, label=label)

    ask("of a group")
    ask("again")
    ask("another producer", producer_id=tx.producer_id + 999_999)
    ask("an epoch from the future", producer_epoch=tx.epoch + 1)
    ask("an unknown id", transactional_id=peer.name("unknown"))
    ask("an empty id", transactional_id="")
    tx.end(commit=True)


@versions("end_txn", seconds=3)
def end_txn(peer: Peer, version: int) -> None:
    topic = peer.topic()
    tx = Producer(peer).init()

    def ask(label: str, *, commit: bool, **wrong: Any) -> None:
        answer = peer.ask("end_txn", version, tx.end_body(commit=commit, **wrong), label=label)
        if version >= 5 and answer["error_code"] == 0:
            epochs.append(answer["producer_epoch"])
        tx.wait_for_end()

    epochs: list[int] = []
    ask("a commit of nothing", commit=True)
    for commit, kind in ((True, "commit"), (False, "abort")):
        tx.init()
        tx.send(topic)
        ask(f"{kind}: another producer", commit=commit, producer_id=tx.producer_id + 999_999)
        ask(f"{kind}: an epoch from the past", commit=commit, producer_epoch=tx.epoch - 1)
        ask(f"{kind}: an epoch from the future", commit=commit, producer_epoch=tx.epoch + 1)
        ask(kind, commit=commit)
        ask(f"{kind} again", commit=commit)
        ask(f"{kind}, then the opposite", commit=not commit)
    tx.init()
    ask("an abort of nothing", commit=False)
    if version >= 5:
        ask("an abort of nothing again", commit=False)
        tx.epoch = epochs[-1]
        ask("an abort of nothing with the new epoch", commit=False)
    ask("an unknown id", commit=True, transactional_id=peer.name("unknown"))
    ask("an empty id", commit=True, transactional_id="")


@versions("write_txn_markers", seconds=2)
def write_txn_markers(peer: Peer, version: int) -> None:
    topic = peer.topic("a", partitions=2)
    tx = Producer(peer).init()

    def ask(label: str, *topics: tuple[str, list[int]], commit: bool = True, **changes: Any) -> None:
        marker = {
            "producer_id": tx.producer_id, "producer_epoch": tx.epoch, "transaction_result": commit,
            "coordinator_epoch": 5, "transaction_version": 0,
            "topics": [{"name": name, "partition_indexes": indexes} for name, indexes in topics], **changes,
        }  # fmt: skip
        peer.ask("write_txn_markers", version, {"markers": [marker]}, label=label)

    peer.ask("write_txn_markers", version, {"markers": []}, label="no markers")
    tx.send(topic, 0, 1)
    ask("commit", (topic, [0]))
    ask("abort", (topic, [1]), commit=False)
    ask("without a transaction", (topic, [0]))
    ask("a topic that does not exist", (peer.name("nothing"), [0]))
    ask("a partition that does not exist, and one that does", (topic, [0, MISSING]))
    ask("an older coordinator", (topic, [0]), coordinator_epoch=4)
    ask("an epoch from the future", (topic, [0]), producer_epoch=tx.epoch + 3)
    ask("an epoch from the past", (topic, [0]))
    ask("a producer that nobody knows", (topic, [1]), producer_id=tx.producer_id + 999_999)
    peer.ask("describe_producers", 0, {"topics": [{"name": topic, "partition_indexes": [0]}]}, label="what is left")


@versions("txn_offset_commit", seconds=2, alone=True)  # as produce-transactional
def txn_offset_commit(peer: Peer, version: int) -> None:
    topic = peer.topic()
    tx = Producer(peer).init()
    group = peer.name("group")
    peer.until(
        lambda: peer.quietly("find_coordinator", 3, {"key": group, "key_type": 0}),
        lambda answer: answer["error_code"] == 0,
    )

    def ask(label: str, *, name: str = topic, partition: int = 0, metadata: str | None = "m", **wrong: Any) -> None:
        row = {
            "partition_index": partition, "committed_offset": 5, "committed_leader_epoch": -1,
            "committed_metadata": metadata,
        }  # fmt: skip
        body = {
            "transactional_id": tx.transactional_id, "group_id": group, "producer_id": tx.producer_id,
            "producer_epoch": tx.epoch, "generation_id": -1, "member_id": "", "group_instance_id": None,
            "topics": [{"name": name, "partitions": [row]}], **wrong,
        }  # fmt: skip
        peer.ask("txn_offset_commit", version, body, label=label)

    def committed(label: str) -> None:
        rows = [{"name": topic, "partition_indexes": [0]}]
        for stable in (False, True):
            body = {"group_id": group, "topics": rows, "require_stable": stable}
            peer.ask("offset_fetch", 7, body, label=f"{label}, stable: {stable}")

    if version < 5:
        ask("the group was not added")
        add = {
            "transactional_id": tx.transactional_id, "producer_id": tx.producer_id, "producer_epoch": tx.epoch,
            "group_id": group,
        }  # fmt: skip
        assert peer.quietly("add_offsets_to_txn", 3, add)["error_code"] == 0
    ask("an offset")
    committed("before the commit")
    ask("a topic that does not exist", name=peer.name("nothing"))
    ask("a partition that does not exist", partition=MISSING)
    ask("metadata that is too long", metadata="x" * 5000)
    ask("no metadata", metadata=None)
    ask("another producer", producer_id=tx.producer_id + 999_999)
    ask("an epoch from the future", producer_epoch=tx.epoch + 1)
    ask("an epoch from the past", producer_epoch=tx.epoch - 1)
    ask("an unknown id", transactional_id=peer.name("unknown"))
    if version >= 3:
        ask("a generation", generation_id=3)
        ask("a member", member_id="somebody")
        ask("a generation and a member", generation_id=3, member_id="somebody")
    tx.end(commit=True)
    committed("after the commit")
    if version >= 5:
        ask("an offset of the next transaction")
    else:
        assert peer.quietly("add_offsets_to_txn", 3, add)["error_code"] == 0
        ask("an offset of the next transaction")
    tx.end(commit=False)
    committed("after an abort")


@versions("describe_transactions")
def describe_transactions(peer: Peer, version: int) -> None:
    topic, other = peer.topic("a", partitions=3), peer.topic("b")
    tx = Producer(peer).init()
    tx.send(topic, 2, 0)
    tx.send(other)

    def ask(label: str, *names: str) -> None:
        peer.ask("describe_transactions", version, {"transactional_ids": list(names)}, label=label)

    ask("nothing")
    ask("an open one", tx.transactional_id)
    ask("an unknown one", peer.name("unknown"))
    ask("an empty id", "")
    ask("two", tx.transactional_id, peer.name("unknown"))
    tx.end(commit=True)
    ask("a committed one", tx.transactional_id)
    tx.send(topic)
    tx.end(commit=False)
    ask("an aborted one", tx.transactional_id)


@versions("list_transactions")
def list_transactions(peer: Peer, version: int) -> None:
    topic = peer.topic()
    opened, ended = Producer(peer, "open").init(), Producer(peer, "ended").init()
    opened.send(topic)
    ended.send(topic)
    ended.end(commit=True)

    def ask(label: str, **filters: Any) -> None:
        body = {
            "state_filters": [], "producer_id_filters": [], "duration_filter": -1, "transactional_id_pattern": None,
            **filters,
        }  # fmt: skip
        peer.ask("list_transactions", version, body, label=label)

    ask("all")
    ask("by state", state_filters=["Ongoing"])
    ask("by states, one of them unknown", state_filters=["CompleteCommit", "Nonsense"])
    ask("by an unknown state only", state_filters=["Nonsense"])
    ask("by producer", producer_id_filters=[opened.producer_id])
    ask("by a producer that nobody knows", producer_id_filters=[999_999_999])
    if version >= 1:
        ask("open for an hour", duration_filter=3_600_000)
        ask("open for no time", duration_filter=0)
    if version >= 2:
        ask("by a pattern", transactional_id_pattern=".*-open")
        ask("by a pattern that fits nothing", transactional_id_pattern="open")
        ask("by an empty pattern", transactional_id_pattern="")
        ask("by a pattern that is none", transactional_id_pattern="(")
    opened.end(commit=False)
