"""The table of verdicts: every request under every set of rules, run against a cluster, and kept as Kafka gave it.

`python -m tests.acls` records `verdicts.json` from Apache Kafka with StandardAuthorizer; `test_verdicts.py` holds
Penstock to it. A cluster is given as a function from a principal to a connection of that principal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from penstock.protocol.kafka.describe_transactions import decode
from tests.acls.asked import BATCH, GROUP, OF_TOPIC_T, TOPICS, TRANSACTIONAL_ID, UNKNOWN_ID, Asked
from tests.acls.requests import REQUESTS
from tests.acls.rule_sets import RULE_SETS
from tests.acls.verdict import Reading, Verdict
from tests.support.acl_client import AclClient
from tests.support.group_client import wait_for_coordinator
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

FILE: Final = Path(__file__).parent / "verdicts.json"
BODY_START: Final = 5
"""After the correlation id and the tagged fields of a flexible header."""
ADMIN, ASKING = "admin", "alice"

Connect = Callable[[str], RawClient]
Verdicts = dict[str, dict[str, Verdict]]
"""By the name of the request and the name of the rules."""


def prepare(admin: RawClient) -> None:
    """Everything that requests name."""
    wait_for_coordinator(admin)
    for name in TOPICS:
        admin.create_topic(name)
    admin.appended("t", BATCH)
    group = {"group_id": GROUP, "member_id": "", "generation_id_or_member_epoch": -1}
    offset = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    topics = [{"name": name, "partitions": [offset]} for name in ("t", "u")]

    def committed() -> bool:
        answer = admin.call("offset_commit", 8, **group, topics=topics)
        return {int(each.partitions[0].error_code) for each in answer.topics} == {0}

    def transactional() -> bool:
        admin.call("find_coordinator", 4, key_type=1, coordinator_keys=[TRANSACTIONAL_ID])  # makes the log of them
        answer = admin.call(
            "init_producer_id", 4, transactional_id=TRANSACTIONAL_ID, transaction_timeout=60_000, producer_id=-1,
            producer_epoch=-1,
        )  # fmt: skip
        return int(answer.error_code) == 0

    wait_until(committed, what="the group has offsets")
    wait_until(transactional, what="the transactional id exists")


def run(
    connect: Connect, report: Callable[[str], None] = lambda _: None, rule_sets: Iterable[str] = RULE_SETS
) -> Verdicts:
    """The verdicts of a fresh cluster."""
    admin = connect(ADMIN)
    prepare(admin)
    topic_id = admin.topic_id("t")
    verdicts: Verdicts = {asked.name: {} for asked in REQUESTS}
    acls = AclClient(admin)
    for name in rule_sets:
        rules = RULE_SETS[name]
        report(name)
        acls.delete_all()
        if rules:
            acls.created(*rules)
        wait_until(lambda rules=rules: acls.described() == set(rules), what=f"the rules are those of {name}")  # type: ignore[misc]
        for asked in REQUESTS:
            verdicts[asked.name][name] = _answer(connect, asked, topic_id)
    return verdicts


def _answer(connect: Connect, asked: Asked, topic_id: object) -> Verdict:
    """A connection for each: Kafka closes some of them."""
    with connect(ASKING) as client:
        try:
            if asked.api == "describe_transactions":
                return _described_transactions(client, asked)
            answer = client.call(asked.api, asked.version, **_with_id(asked.values, topic_id))
            return Reading(asked.api, {topic_id: OF_TOPIC_T, UNKNOWN_ID: "unknown"}).verdict(answer)
        except ConnectionClosed:
            return {"closed": True}


def _described_transactions(client: RawClient, asked: Asked) -> Verdict:
    """Read by hand: kio cannot read the start time of a transaction that has not begun."""
    client.send(asked.api, asked.version, **asked.values)
    found = decode(client.receive_frame(), BODY_START)
    return {"transactions": [{"transactional_id": each.transactional_id, "error_code": each.error} for each in found]}


def _with_id(value: Any, topic_id: object) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_id(item, topic_id) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_id(item, topic_id) for item in value]
    return topic_id if value == OF_TOPIC_T else value


# --- the file ------------------------------------------------------------------------------------------------------


def save(verdicts: Verdicts) -> None:
    """Each verdict once, with the rules that lead to it."""
    table = {}
    for request, by_rules in verdicts.items():
        grouped: dict[str, list[str]] = {}
        for rules, found in by_rules.items():
            grouped.setdefault(json.dumps(found, sort_keys=True), []).append(rules)
        table[request] = [{"verdict": json.loads(found), "rules": names} for found, names in grouped.items()]
    FILE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


def load() -> Verdicts:
    return {
        request: {name: row["verdict"] for row in rows for name in row["rules"]}
        for request, rows in json.loads(FILE.read_text()).items()
    }
