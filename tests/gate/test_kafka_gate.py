"""Every API of the Kafka port passes the gate: it is admitted, and asks for the rights that it needs."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path
from typing import Any

import pytest

from penstock.broker.dispatcher import Dispatcher
from penstock.broker.request import AnyRequest
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode
from penstock.net.reply import Reply
from penstock.node.node import Node
from penstock.protocol.kafka.apis import APIS
from penstock.security.access import Access
from penstock.security.authenticator import Credentials
from penstock.security.authorizer import AllowAll
from penstock.security.resources import CLUSTER_NAME, Operation, ResourceType
from penstock.security.session import Session
from penstock.storage.metadata.store import MetadataStore
from tests.fuzz.samples import API_NAMES, BATCHES
from tests.gate.recorder import ANY_NAME, Asked, Recorder
from tests.gate.rights import DESCRIBE_ID, KAFKA, WRITE_ID, WRITE_TOPIC
from tests.gate.world import TRANSACTIONAL_ID, KafkaClient, running_node, versions

PARTITIONS = [{"name": "t", "partitions": [0]}]
CHANGES: dict[str, dict[str, Any]] = {
    "describe_transactions": {"transactional_ids": [TRANSACTIONAL_ID]},
    "add_partitions_to_txn": {"transactions": [{"transactional_id": "other", "topics": PARTITIONS}]},
    "txn_offset_commit": {
        "transactional_id": "other",
        "group_id": "g",
        "topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}],
    },
}
LAST = ("delete_topics", "delete_groups")
Findings = dict[str, tuple[list[str], set[Asked]]]


async def ask_everything(data_dir: Path) -> Findings:
    recorder = Recorder()
    found: Findings = {}
    async with running_node(data_dir, recorder) as node:
        client = await KafkaClient.connect(node.kafka_port)
        await client.ask("create_topics", 7, topics=[{"name": "t", "num_partitions": 1, "replication_factor": 1}])
        await client.ask("init_producer_id", 5, transactional_id=TRANSACTIONAL_ID, transaction_timeout=1000)
        assert {session.listener for session in recorder.authenticated} == {"PLAINTEXT"}
        for api, version in sorted(versions().items(), key=lambda item: item[0] in LAST):
            recorder.take()
            await client.ask(api, version, **CHANGES.get(api, {}))
            found[api] = recorder.take()
        client.close()
    return found


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return asyncio.run(ask_everything(tmp_path_factory.mktemp("gate") / "data"))


def wrong(findings: Findings) -> dict[str, object]:
    """APIs that were not admitted once, or did not ask for exactly what the table says."""
    names = {API_NAMES[api.key]: api.name for api in APIS.values()}
    return {api: found for api, found in findings.items() if found != ([names[api]], KAFKA.get(api))}


def test_every_api_has_a_row_in_the_table() -> None:
    assert set(KAFKA) == set(versions())


def test_every_api_is_admitted_and_asks_for_its_rights(findings: Findings) -> None:
    assert wrong(findings) == {}


def test_a_handler_that_does_not_ask_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatch = Dispatcher.dispatch

    def careless(self: Dispatcher, request: AnyRequest) -> Reply:
        """As if the handler of Heartbeat had forgotten to ask."""
        if request.api.name == "Heartbeat":
            request.session = request.session.with_client_id("unseen")
        return dispatch(self, request)

    def allows(self: Recorder, session: object, operation: Operation, kind: ResourceType, name: str) -> bool:
        if getattr(session, "client_id", None) != "unseen":
            self.asked.append((session, operation, kind, name))  # type: ignore[arg-type]
        return True

    monkeypatch.setattr(Dispatcher, "dispatch", careless)
    monkeypatch.setattr(Recorder, "allows", allows)
    assert list(wrong(asyncio.run(ask_everything(tmp_path / "data")))) == ["heartbeat"]


def test_other_forms_of_a_request_ask_for_other_rights(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        async with running_node(tmp_path / "data", recorder) as node:
            client = await KafkaClient.connect(node.kafka_port)
            await client.ask("create_topics", 7, topics=[{"name": "t", "num_partitions": 1, "replication_factor": 1}])
            for api, version, changes, rights in (
                ("init_producer_id", 5, {"transactional_id": "x", "transaction_timeout": 1000}, {WRITE_ID}),
                (
                    "add_partitions_to_txn",
                    3,
                    {
                        "v3_and_below_transactional_id": "x",
                        "v3_and_below_topics": [{"name": "t", "partitions": [0]}],
                    },
                    {WRITE_ID, WRITE_TOPIC},
                ),
                ("find_coordinator", 4, {"key_type": 1, "coordinator_keys": ["x"]}, {DESCRIBE_ID}),
            ):
                recorder.take()
                await client.ask(api, version, **changes)
                assert recorder.take()[1] == rights, api
            client.close()

    asyncio.run(scenario())


class OnlyTopics(Recorder):
    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        return super().allows(session, operation, kind, name) and kind is ResourceType.TOPIC


def test_the_right_to_write_any_topic_gives_a_producer_id(tmp_path: Path) -> None:
    """Of an existing topic or not: the rules decide, and one question to them is enough."""

    async def scenario() -> None:
        recorder = OnlyTopics()
        async with running_node(tmp_path / "data", recorder) as node:
            client = await KafkaClient.connect(node.kafka_port)
            recorder.take()
            answer = await client.ask("init_producer_id", 5, transactional_id=None)
            assert struct.unpack_from(">h", answer, 9) == (ErrorCode.NONE,)  # after correlation id, tags, throttle time
            rights = [(operation, kind, name) for _, operation, kind, name in recorder.asked]
            assert rights == [
                (Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME),
                (Operation.WRITE, ResourceType.TOPIC, ANY_NAME),
            ]
            client.close()

    asyncio.run(scenario())


def test_the_gate_is_built_when_the_metadata_is_open(tmp_path: Path) -> None:
    built = []

    def build(metadata: MetadataStore) -> Access:
        built.append(metadata.cluster_id)
        return Access()

    async def scenario() -> None:
        settings = {"node": {"data_dir": tmp_path / "data"}, "kafka": {"host": "127.0.0.1", "port": 0}}
        off = {"push": {"enabled": False}, "http": {"enabled": False}}
        node = Node(Settings.model_validate({**settings, **off}), build_access=build)
        await node.start()
        await node.stop()

    asyncio.run(scenario())
    assert built
    assert all(built)


def test_the_authorizer_of_a_gate_cannot_be_replaced() -> None:
    """Its decisions are bound when the gate is built: an assignment would change nothing."""
    with pytest.raises(AttributeError):
        Access().authorizer = AllowAll()  # type: ignore[misc]


class LoggedIn(Recorder):
    """Sessions are authenticated with the connection, as they are without security."""

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        return super().authenticate(session, credentials)._replace(authenticated=True)


async def asked_by_produces(data_dir: Path, recorder: Recorder) -> list[int]:
    """How many rights were asked for by each of four like Produce requests; the rules change before the last."""
    counts = []
    async with running_node(data_dir, recorder) as node:
        client = await KafkaClient.connect(node.kafka_port)
        await client.ask("create_topics", 7, topics=[{"name": "t", "num_partitions": 1, "replication_factor": 1}])
        data = [{"name": "t", "partition_data": [{"index": 0, "records": BATCHES["codec0"]}]}]
        for number in range(4):
            recorder.take()
            recorder.version += number == 3
            await client.ask("produce", 12, topic_data=data)
            counts.append(len(recorder.asked))
        client.close()
    return counts


def test_a_repeated_produce_asks_again_when_the_rules_change(tmp_path: Path) -> None:
    assert asyncio.run(asked_by_produces(tmp_path / "data", LoggedIn())) == [1, 1, 0, 1]


def test_a_repeated_produce_goes_the_long_way_until_its_session_is_authenticated(tmp_path: Path) -> None:
    assert asyncio.run(asked_by_produces(tmp_path / "data", Recorder())) == [1, 1, 1, 1]
