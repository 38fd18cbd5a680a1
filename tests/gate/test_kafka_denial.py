"""A right that is denied stops the request: every API of the Kafka port, right by right, by name and by topic id."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from penstock.model.errors import ErrorCode
from tests.fuzz.samples import BATCHES, VALUES
from tests.gate.denials import KAFKA_OUTCOMES, Outcome, denials, refusal
from tests.gate.plants import ignore_refusals
from tests.gate.recorder import Asked, Recorder
from tests.gate.rights import (
    ALTER,
    ALTER_CONFIGS,
    ALTER_TOPIC_CONFIGS,
    CONFIGS,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_ID,
    DESCRIBE_TOPIC,
    KAFKA,
    READ_TOPIC,
    TOPIC_CONFIGS,
    WRITE_ID,
    WRITE_TOPIC,
)
from tests.gate.test_kafka_gate import CHANGES, LAST, PARTITIONS
from tests.gate.world import TOPIC, TRANSACTIONAL_ID, GateNode, KafkaClient, running_node, versions
from tests.support.wire import decode_response

GROUP = "g"
ORDER = {**dict.fromkeys(LAST, 1), "alter_client_quotas": 2}
"""APIs after which others would not find their topic, or would be throttled."""
RECORDS = [{"index": 0, "records": BATCHES["codec0"]}]
IN_TRANSACTION = {"v3_and_below_transactional_id": TRANSACTIONAL_ID, "v3_and_below_topics": PARTITIONS}
_FRESH = {"topics": [{"name": "fresh", "topic_id": None}]}
_NEW = {"name": "checked", "num_partitions": 1, "replication_factor": 1}
_MARKER = {
    "producer_id": 1,
    "transaction_result": True,
    "topics": [{"name": TOPIC, "partition_indexes": [0]}],
}
_TOPICS_RESOURCE, _BROKERS_RESOURCE = ({"resources": [each]} for each in VALUES["alter_configs"]["resources"])

FORMS: dict[tuple[str, Asked], dict[str, Any]] = {
    ("metadata", CREATE): _FRESH,
    ("create_topics", TOPIC_CONFIGS): {"topics": [_NEW], "validate_only": True},
    ("describe_configs", TOPIC_CONFIGS): _TOPICS_RESOURCE,
    ("describe_configs", CONFIGS): _BROKERS_RESOURCE,
    ("alter_configs", ALTER_TOPIC_CONFIGS): _TOPICS_RESOURCE,
    ("alter_configs", ALTER_CONFIGS): _BROKERS_RESOURCE,
    ("incremental_alter_configs", ALTER_TOPIC_CONFIGS): _TOPICS_RESOURCE,
    ("incremental_alter_configs", ALTER_CONFIGS): _BROKERS_RESOURCE,
    ("list_groups", DESCRIBE): {"states_filter": [], "types_filter": []},
    ("write_txn_markers", ALTER): {"markers": [_MARKER]},
}
"""Requests of which everything depends on the one right."""


class Case(NamedTuple):
    """A request that needs a right."""

    api: str
    version: int
    right: Asked
    changes: dict[str, Any]

    def __str__(self) -> str:
        operation, kind = self.right
        return f"{self.api} v{self.version} {operation.name} {kind.name}"


def by_name() -> Iterator[Case]:
    """Every API with every right of the table."""
    for api, version in versions().items():
        for right in sorted(KAFKA[api]):
            yield Case(api, version, right, {**CHANGES.get(api, {}), **FORMS.get((api, right), {})})


def by_id(topic_id: UUID) -> Iterator[Case]:
    """Requests that know a topic by its id only."""
    named = {"topic_id": topic_id, "partitions": VALUES["fetch"]["topics"][0]["partitions"]}
    produced = [{"topic_id": topic_id, "partition_data": RECORDS}]
    group = {"group_id": GROUP, "member_epoch": -1, "topics": [{"topic_id": topic_id, "partition_indexes": [0]}]}
    yield Case("produce", 13, WRITE_TOPIC, {"topic_data": produced})
    for version in (13, 17):
        yield Case("fetch", version, READ_TOPIC, {"topics": [named], "forgotten_topics_data": []})
    yield Case("metadata", 13, DESCRIBE_TOPIC, {"topics": [{"name": None, "topic_id": topic_id}]})
    yield Case("offset_commit", 10, READ_TOPIC, {"topics": [named]})
    yield Case("offset_fetch", 10, DESCRIBE_TOPIC, {"groups": [group]})
    yield Case("delete_topics", 6, DELETE, {"topics": [{"name": None, "topic_id": topic_id}]})


def other_forms() -> Iterator[Case]:
    """Requests that ask for other rights than the newest form of their API."""
    yield Case("init_producer_id", 5, WRITE_ID, {"transactional_id": "other", "transaction_timeout": 1000})
    for right in (WRITE_ID, WRITE_TOPIC):
        yield Case("add_partitions_to_txn", 3, right, IN_TRANSACTION)
    yield Case("find_coordinator", 4, DESCRIBE_ID, {"key_type": 1, "coordinator_keys": [TRANSACTIONAL_ID]})


def codes(value: object) -> Iterator[int]:
    """Every error code of an answer, at all its levels."""
    for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
        inner = getattr(value, field.name)
        if field.name in ("error_code", "partition_error_code"):
            yield int(inner)
        for each in inner if isinstance(inner, tuple) else (inner,):
            yield from codes(each)


def shows(case: Case, outcome: Outcome, answer: Any) -> bool:
    """Whether the answer has what it may only have with the right."""
    match outcome:
        case Outcome.UNLISTED:
            names = [each.group_id for each in getattr(answer, "groups", ())]
            names += [each.transactional_id for each in getattr(answer, "transaction_states", ())]
            return GROUP in names or TRANSACTIONAL_ID in names
        case Outcome.UNMARKED:
            owner = next((each[0] for each in (_many(answer, "groups"), _many(answer, "topics")) if each), answer)
            (name,) = [each.name for each in dataclasses.fields(owner) if each.name.endswith("authorized_operations")]
            return bool(getattr(owner, name) & 1 << case.right[0])
        case Outcome.NO_CONFIGS:
            return any(each.configs for each in answer.topics)
    raise AssertionError(outcome)


def _many(answer: object, name: str) -> tuple[Any, ...]:
    return getattr(answer, name, ())


async def prepared(node: GateNode, client: KafkaClient) -> UUID:
    """The id of a topic with a record. There are a group with an offset and an open transaction, too."""
    await client.ask("create_topics", 7, topics=[{"name": TOPIC, "num_partitions": 1, "replication_factor": 1}])
    await client.ask("init_producer_id", 5, transactional_id=TRANSACTIONAL_ID, transaction_timeout=60_000)
    await client.ask("produce", 12, topic_data=[{"name": TOPIC, "partition_data": RECORDS}])
    await client.ask("offset_commit", 9)
    await client.ask("add_partitions_to_txn", 3, **IN_TRANSACTION)
    topic = node.broker.topics.get(TOPIC)
    assert topic is not None
    return topic.topic_id


async def wrong(data_dir: Path) -> dict[str, object]:
    """Cases that were not stopped, or that are stopped with all rights, too."""
    recorder = Recorder()
    found: dict[str, object] = {}
    async with running_node(data_dir, recorder) as node:
        client = await KafkaClient.connect(node.kafka_port)
        topic_id = await prepared(node, client)
        cases = sorted([*by_name(), *by_id(topic_id), *other_forms()], key=lambda case: ORDER.get(case.api, 0))
        for case in cases:
            before = node.snapshot()
            recorder.denied = denials(case.api, case.right)
            problem = _problem(case, await _answer(client, case), is_denied=True)
            recorder.denied = set()
            if problem or node.snapshot() != before:
                found[str(case)] = problem or "something has changed"
        for case in cases:
            if problem := _problem(case, await _answer(client, case), is_denied=False):
                found[f"{case}, allowed"] = problem
        client.close()
    return found


async def _answer(client: KafkaClient, case: Case) -> Any:
    return decode_response(case.api, case.version, await client.ask(case.api, case.version, **case.changes))[1]


def _problem(case: Case, answer: Any, *, is_denied: bool) -> str:
    outcome = KAFKA_OUTCOMES.get((case.api, case.right), Outcome.REFUSED)
    found = set(codes(answer)) - {ErrorCode.NONE}
    if outcome is not Outcome.REFUSED:
        return f"{outcome}: {answer}" if shows(case, outcome, answer) is is_denied else ""
    code = refusal(case.right)
    is_right = found == {code} if is_denied else code not in found
    return "" if is_right else f"{code.name} expected, or not expected: {found}"


def test_every_api_is_stopped_without_a_right(tmp_path: Path) -> None:
    assert asyncio.run(wrong(tmp_path / "data")) == {}


async def stable_offsets(data_dir: Path) -> dict[tuple[str, int, bool], set[int]]:
    """The codes of OffsetFetch that waits for transactions, by topic, version and whether the topic may be described;
    one topic has a pending offset, the other does not exist."""
    recorder = Recorder()
    async with running_node(data_dir, recorder) as node:
        client = await KafkaClient.connect(node.kafka_port)
        await prepared(node, client)

        async def ask(api: str, version: int, **fields: Any) -> Any:
            return await _answer(client, Case(api, version, DESCRIBE_TOPIC, fields))

        made = await ask("init_producer_id", 4, transactional_id="pending", transaction_timeout=60_000)
        ids = {"producer_id": made.producer_id, "producer_epoch": made.producer_epoch, "transactional_id": "pending"}
        offset = {"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}
        topics = [{"name": TOPIC, "partitions": [offset]}]
        assert set(codes(await ask("add_offsets_to_txn", 3, group_id=GROUP, **ids))) == {ErrorCode.NONE}
        member = {"generation_id": -1, "member_id": "", "group_instance_id": None}
        committed = await ask("txn_offset_commit", 3, group_id=GROUP, topics=topics, **ids, **member)
        assert set(codes(committed)) == {ErrorCode.NONE}
        found = {}
        for hidden in (False, True):
            recorder.denied = denials("offset_fetch", DESCRIBE_TOPIC) if hidden else set()
            for name in (TOPIC, "nothing"):
                group = {"group_id": GROUP, "topics": [{"name": name, "partition_indexes": [0]}]}
                for version in (7, 8, 9):
                    answer = await ask("offset_fetch", version, require_stable=True, groups=[group], **group)
                    found[name, version, hidden] = set(codes(answer)) - {ErrorCode.NONE}
        client.close()
    return found


def test_a_pending_offset_does_not_tell_of_a_topic(tmp_path: Path) -> None:
    expected: dict[tuple[str, int, bool], set[int]] = {}
    for version in (7, 8, 9):
        expected[TOPIC, version, False] = {ErrorCode.UNSTABLE_OFFSET_COMMIT}
        expected["nothing", version, False] = set()
        for name in (TOPIC, "nothing"):
            expected[name, version, True] = {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    assert asyncio.run(stable_offsets(tmp_path / "data")) == expected


async def begun_sessions(data_dir: Path) -> list[bool]:
    """Whether fetches of more and more partitions, which are all refused, begin a session; their frames are large."""
    recorder = Recorder()
    async with running_node(data_dir, recorder) as node:
        client = await KafkaClient.connect(node.kafka_port)
        recorder.denied = denials("fetch", READ_TOPIC)
        begun = []
        for count in (1, 900):
            rows = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1} for index in range(count)]
            topics = [{"topic": "x" * 32_700, "partitions": rows}]
            fields = {"session_id": 0, "session_epoch": 0, "max_wait": 0, "topics": topics}
            answer = await _answer(client, Case("fetch", 12, READ_TOPIC, fields))
            begun.append(answer.session_id != 0)
        client.close()
    return begun


def test_a_fetch_session_does_not_tell_how_many_partitions_the_node_has(tmp_path: Path) -> None:
    assert asyncio.run(begun_sessions(tmp_path / "data")) == [True, True]


@pytest.mark.parametrize(
    ("module", "unstopped"),
    [
        ("handlers.groups.heartbeat", {"heartbeat v4 READ GROUP"}),
        ("operations.topics", {"create_partitions v3 ALTER TOPIC"}),
        ("produce.part", {"produce v12 WRITE TOPIC", "produce v13 WRITE TOPIC"}),
        ("fetch.partition_read", {"fetch v13 READ TOPIC", "fetch v17 READ TOPIC"}),
    ],
)
def test_a_refusal_that_is_ignored_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, unstopped: set[str]
) -> None:
    ignore_refusals(monkeypatch, f"penstock.broker.{module}")
    assert unstopped <= asyncio.run(wrong(tmp_path / "data")).keys()
