"""Transactional ids where one is looked for, and ids (and other strings) longer than Kafka reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.differential.frames import is_flexible
from tests.differential.peer import Peer
from tests.differential.script import advertised, script, versions
from tests.differential.steps.transactions import Producer

LONGEST = 32_767
LONG = "y" * 40_000


@versions("find_coordinator", name="find-coordinator-transactions")
def find_coordinator_transactions(peer: Peer, version: int) -> None:
    tx = Producer(peer).init()

    def body(*keys: str, kind: int = 1) -> Mapping[str, Any]:
        return {"key": keys[0] if keys else "", "key_type": kind, "coordinator_keys": list(keys)}

    def ask(label: str, *keys: str, kind: int = 1) -> None:
        peer.ask("find_coordinator", version, body(*keys, kind=kind), label=label)

    ask("of an id", tx.transactional_id)
    ask("of an id that nobody knows", peer.name("unknown"))
    ask("of the empty id", "")
    ask("of a name with signs", "a/b c")
    answer = peer.quietly("find_coordinator", version, body("x" * LONGEST))  # which would be in the answer
    row = answer if version < 4 else answer["coordinators"][0]
    peer.note("of the longest id", [row["error_code"], row["node_id"], len(row.get("key", ""))])
    if is_flexible("find_coordinator", version):
        ask("of an id that is too long", "x" * (LONGEST + 1))
        ask("of one that is much too long", LONG)
        ask("of a group that is too long", LONG, kind=0)
    if version >= 4:
        ask("of no ids")
        ask("of two ids", tx.transactional_id, peer.name("other"))
        ask("of one id twice", tx.transactional_id, tx.transactional_id)
        ask("of two, one of them too long", tx.transactional_id, LONG)


OF_TRANSACTIONS: Mapping[str, Mapping[str, Any]] = {
    "init_producer_id": {
        "transactional_id": LONG, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1,
    },
    "add_offsets_to_txn": {"transactional_id": LONG, "producer_id": 1, "producer_epoch": 0, "group_id": "g"},
    "end_txn": {"transactional_id": LONG, "producer_id": 1, "producer_epoch": 0, "committed": True},
    "txn_offset_commit": {
        "transactional_id": LONG, "group_id": "g", "producer_id": 1, "producer_epoch": 0, "generation_id": -1,
        "member_id": "", "group_instance_id": None, "topics": [],
    },
    "describe_transactions": {"transactional_ids": [LONG]},
    "produce": {"transactional_id": LONG, "acks": -1, "timeout": 1_000, "topic_data": []},
}  # fmt: skip

OTHERS: Mapping[str, Mapping[str, Any]] = {
    "api_versions": {"client_software_name": LONG, "client_software_version": "1"},
    "metadata": {"topics": [{"name": LONG, "topic_id": None}]},
    "create_topics": {"topics": [{"name": LONG, "num_partitions": 1, "replication_factor": 1}], "timeout": 1_000},
    "fetch": {"max_wait": 0, "session_epoch": -1, "topics": [], "rack_id": LONG},
    "heartbeat": {"group_id": LONG, "generation_id": 1, "member_id": "m"},
    "describe_groups": {"groups": ["g", LONG]},
    "list_groups": {"states_filter": [LONG]},
    "delete_groups": {"groups_names": [LONG]},
}  # fmt: skip


def _ask_all(peer: Peer, bodies: Mapping[str, Mapping[str, Any]]) -> None:
    for api, body in bodies.items():
        for version in advertised(api):
            if is_flexible(api, version):
                peer.ask(api, version, body, label="a string that is too long")


@script("transactional-id-too-long", seconds=2)
def transactional_id_too_long(peer: Peer) -> None:
    """In every request that has one, of every version that can say such a length."""
    Producer(peer).init()
    _ask_all(peer, OF_TRANSACTIONS)
    for version in advertised("add_partitions_to_txn"):
        who = {"transactional_id": LONG, "producer_id": 1, "producer_epoch": 0, "topics": []}
        older = {f"v3_and_below_{name}": value for name, value in who.items()}
        body = older if version < 4 else {"transactions": [{**who, "verify_only": False}]}
        if is_flexible("add_partitions_to_txn", version):
            peer.ask("add_partitions_to_txn", version, body, label="a string that is too long")
    pattern = {"state_filters": [LONG], "producer_id_filters": []}
    for version in advertised("list_transactions"):
        peer.ask("list_transactions", version, pattern, label="a string that is too long")


@script("strings-too-long", seconds=2)
def strings_too_long(peer: Peer) -> None:
    """The same where a string is no transactional id."""
    _ask_all(peer, OTHERS)
