"""One request with very many names, or one name very often, with every right or with none: other clients do not notice.

Each name is looked up, refused or answered, and perhaps audited: short steps, but tens of thousands of them in a
request of a few hundred kilobytes, which every client may send.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.kafka.apis import ABOUT_NAMES, APIS
from tests.support.acl_client import ALLOW, LITERAL, READ, TOPIC, creation, matching, rule
from tests.support.broker_process import BrokerProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.undisturbed import PAUSE_MAX_S, nobody_waits
from tests.support.variants import variants
from tests.support.wire import API_KEYS, encode_request, frame

NAMES, OFTEN = 16_000, 60_000
ALLOWED, DENIED = "allowed", "denied"
Body = Callable[[list[str]], dict[str, Any]]


def by_topic(rows: str, topic: str = "name", topics: str = "topics", **row: Any) -> Body:
    """A partition in each of many topics; `row` has its fields, or is empty where the partition is its number."""
    return lambda names: {topics: [{topic: name, rows: [row or 0]} for name in names]}


def in_group(body: Body) -> Body:
    return lambda names: {"group_id": "g", "member_id": "", "generation_id_or_member_epoch": -1, **body(names)}


def of_transaction(body: Body) -> Body:
    return lambda names: {"transactional_id": "x", "v3_and_below_transactional_id": "x", **in_group(body)(names)}


def configs(names: list[str]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {"resource_type": 2, "resource_name": name, "configs": [], "configuration_keys": None} for name in names
    ]
    return {"resources": rows}


def one_resource(**parts: list[Any]) -> dict[str, Any]:
    """The configs of a topic that exists."""
    return {"resources": [{"resource_type": 2, "resource_name": "g", **parts}], "validate_only": True}


def entities(names: list[str]) -> dict[str, Any]:
    entries = [{"entity": [{"entity_type": "user", "entity_name": name}], "ops": []} for name in names]
    return {"entries": entries, "validate_only": True}


REQUESTS: dict[str, tuple[int, Body]] = {
    "add_partitions_to_txn": (3, of_transaction(by_topic("partitions", topics="v3_and_below_topics"))),
    "alter_client_quotas": (1, entities),
    "alter_configs": (2, configs),
    "alter_partition_reassignments": (
        0,
        lambda names: by_topic("partitions", partition_index=0)(names) | {"timeout": 1},
    ),
    "alter_replica_log_dirs": (2, lambda names: {"dirs": [{"path": "/", **by_topic("partitions")(names)}]}),
    "alter_user_scram_credentials": (
        0,
        lambda names: {"deletions": [{"name": name, "mechanism": 1} for name in names], "upsertions": []},
    ),
    "create_acls": (
        3,
        lambda names: {"creations": [creation(rule(TOPIC, name, LITERAL, operation=READ)) for name in names]},
    ),
    "create_partitions": (3, lambda names: {"topics": [{"name": name, "count": 2} for name in names], "timeout": 1}),
    "create_topics": (
        7,
        lambda names: {
            "topics": [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names],
            "timeout": 9,
            "validate_only": True,
        },
    ),
    "delete_acls": (3, lambda names: {"filters": [matching(TOPIC, name, permission=ALLOW) for name in names]}),
    "delete_groups": (2, lambda names: {"groups_names": names}),
    "delete_records": (2, by_topic("partitions", partition_index=0, offset=0)),
    "delete_topics": (6, lambda names: {"topics": [{"name": name, "topic_id": None} for name in names], "timeout": 9}),
    "describe_configs": (4, configs),
    "describe_groups": (5, lambda names: {"groups": names, "include_authorized_operations": True}),
    "describe_log_dirs": (4, by_topic("partitions", topic="topic")),
    "describe_producers": (0, by_topic("partition_indexes")),
    "describe_quorum": (2, by_topic("partitions", topic="topic_name", partition_index=0)),
    "describe_topic_partitions": (0, lambda names: {"topics": [{"name": name} for name in names], "cursor": None}),
    "describe_transactions": (0, lambda names: {"transactional_ids": names}),
    "describe_user_scram_credentials": (0, lambda names: {"users": [{"name": name} for name in names]}),
    "elect_leaders": (2, lambda names: by_topic("partitions", "topic", "topic_partitions")(names) | {"timeout": 9}),
    "fetch": (12, by_topic("partitions", topic="topic", partition=0, fetch_offset=0, partition_max_bytes=9)),
    "find_coordinator": (4, lambda names: {"key_type": 0, "coordinator_keys": names}),
    "incremental_alter_configs": (1, configs),
    "leave_group": (5, lambda names: {"group_id": "g", "members": [{"member_id": name} for name in names]}),
    "list_offsets": (6, by_topic("partitions", partition_index=0, timestamp=-1, current_leader_epoch=-1)),
    "list_transactions": (2, lambda names: {"state_filters": names, "producer_id_filters": [], "duration_filter": -1}),
    "metadata": (
        12,
        lambda names: {
            "topics": [{"name": name, "topic_id": None} for name in names],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": True,
        },
    ),
    "offset_commit": (9, in_group(by_topic("partitions", partition_index=0, committed_offset=0))),
    "offset_delete": (0, in_group(by_topic("partitions", partition_index=0))),
    "offset_fetch": (
        9,
        lambda names: {
            "groups": [{"group_id": name, "topics": [{"name": name, "partition_indexes": [0]}]} for name in names]
        },
    ),
    "offset_for_leader_epoch": (4, by_topic("partitions", topic="topic", partition=0, leader_epoch=0)),
    "produce": (
        9,
        lambda names: {
            "transactional_id": None,
            "acks": -1,
            "timeout": 9_000,
            "topic_data": [{"name": name, "partition_data": [{"index": 0, "records": None}]} for name in names],
        },
    ),
    "txn_offset_commit": (3, of_transaction(by_topic("partitions", partition_index=0, committed_offset=0))),
    "write_txn_markers": (
        1,
        lambda names: {"markers": [{"producer_id": 5, **by_topic("partition_indexes")(names)}]},
    ),
}

PARTS, PARTS_OF_NAMES, PARTS_PRODUCED = 480_000, 49_000, 190_000


def by_partition(rows: str, topic: str = "name", topics: str = "topics", **row: Any) -> Callable[[int], dict[str, Any]]:
    """All partitions in one topic; `rows` are numbers, or have `row`, whose first field is the number."""

    def body(count: int) -> dict[str, Any]:
        index = next(iter(row), None)
        numbers: list[Any] = [number if index is None else {**row, index: number} for number in range(count)]
        return {topics: [{topic: "n", rows: numbers}]}

    return body


def with_group(body: Callable[[int], dict[str, Any]], **fields: Any) -> Callable[[int], dict[str, Any]]:
    group = {"group_id": "g", "member_id": "", "generation_id_or_member_epoch": -1, "transactional_id": "x"}
    return lambda count: group | body(count) | fields


ONE_THING: dict[str, tuple[int, int, Callable[[int], dict[str, Any]]]] = {
    "alter_configs": (
        2,
        PARTS_OF_NAMES,
        lambda count: one_resource(configs=[{"name": f"{n}", "value": ""} for n in range(count)]),
    ),
    "create_topics": (
        7,
        PARTS,
        lambda count: {
            "topics": [
                {
                    "name": "n",
                    "num_partitions": 1,
                    "replication_factor": 1,
                    "configs": [{"name": f"{number}", "value": ""} for number in range(count)],
                }
            ],
            "timeout": 9,
            "validate_only": True,
        },
    ),
    "describe_client_quotas": (
        1,
        PARTS_OF_NAMES,
        lambda count: {
            "components": [{"entity_type": "user", "match_type": 0, "match": f"{number}"} for number in range(count)],
            "strict": False,
        },
    ),
    "describe_configs": (4, PARTS, lambda count: one_resource(configuration_keys=["k"] * count)),
    "incremental_alter_configs": (
        1,
        PARTS_OF_NAMES,
        lambda count: one_resource(
            configs=[{"name": f"{n}", "config_operation": 1, "value": None} for n in range(count)]
        ),
    ),
    "fetch": (
        12,
        PARTS,
        lambda count: {
            "session_epoch": 0,
            "topics": [{"topic": "n", "partitions": [{"partition": number} for number in range(count)]}],
        },
    ),
    "elect_leaders": (
        1,
        PARTS,
        lambda count: by_partition("partitions", "topic", "topic_partitions")(count) | {"timeout": 9},
    ),
    "list_offsets": (5, PARTS, by_partition("partitions", partition_index=None, timestamp=-1)),
    "offset_commit": (7, PARTS, with_group(by_partition("partitions", partition_index=None))),
    "offset_fetch": (7, PARTS, with_group(by_partition("partition_indexes"), require_stable=True)),
    "offset_for_leader_epoch": (3, PARTS, by_partition("partitions", "topic", partition=None)),
    "produce": (
        8,
        PARTS_PRODUCED,
        lambda count: {
            "transactional_id": None,
            "acks": -1,
            "timeout": 9_000,
            **by_partition("partition_data", topics="topic_data", index=None, records=None)(count),
        },
    ),
    "txn_offset_commit": (2, PARTS, with_group(by_partition("partitions", partition_index=None))),
}
"""Requests about one thing with so many parts: version, number, body."""
MANY_OBJECTS = {
    "elect_leaders", "list_offsets", "offset_commit", "offset_fetch", "offset_for_leader_epoch", "produce",
    "txn_offset_commit",
}  # fmt: skip
"""Of those, the ones with an object for each part, among which Python's search for garbage takes up to 0.1 s."""

FEW = {
    "add_offsets_to_txn", "api_versions", "describe_acls", "describe_client_quotas", "describe_cluster", "end_txn",
    "get_telemetry_subscriptions", "heartbeat", "init_producer_id", "join_group", "list_config_resources",
    "list_groups", "list_partition_reassignments", "push_telemetry", "sasl_authenticate", "sasl_handshake",
    "sync_group", "update_features",
}  # fmt: skip
"""Requests that name one thing, or whose names are not looked up one by one."""

QUICK = [
    (api, right)
    for api in ("describe_groups", "find_coordinator", "metadata", "list_offsets")
    for right in (DENIED, ALLOWED)
] + [("produce", DENIED)]


def test_every_api_is_here() -> None:
    names = {name for name, key in API_KEYS.items() if key in APIS}
    assert names == REQUESTS.keys() | FEW


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, BrokerProcess]]:
    """A broker where everybody is a super user, and one where nobody has any right."""
    found: dict[str, BrokerProcess] = {}
    try:
        for right, users in ((ALLOWED, "User:ANONYMOUS"), (DENIED, "User:admin")):
            found[right] = start(tmp_path_factory.mktemp(right), users)
        yield found
    finally:
        for process in found.values():
            process.stop()


def start(directory: Path, super_users: str) -> BrokerProcess:
    process = PenstockProcess(directory, f"acl:\n  enabled: true\n  super_users: {super_users}\n")
    process.prepare()
    process.start()
    return process


@variants("api,right", [(api, right) for api in REQUESTS for right in (DENIED, ALLOWED)], quick=QUICK)
def test_very_many_names(brokers: dict[str, BrokerProcess], api: str, right: str) -> None:
    ask(brokers[right], api, [f"n{number:06}" for number in range(NAMES)])


@variants("api", [(api,) for api in REQUESTS], quick=[("offset_commit",), ("leave_group",)])
def test_the_name_of_something_that_exists_very_often(brokers: dict[str, BrokerProcess], api: str) -> None:
    """A topic, a group and offsets of this name: more is done for each than to say that there is nothing."""
    broker = brokers[ALLOWED]
    with RawClient(broker.host, broker.port) as client:
        topic = {"name": "g", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        client.call("create_topics", 7, topics=[topic], timeout=9_000, validate_only=False)
        client.call("offset_commit", 8, **REQUESTS["offset_commit"][1](["g"]))
    few = api == "describe_configs" or API_KEYS[api] in ABOUT_NAMES  # 40 configs each; up to three elements for a name
    ask(broker, api, ["g"] * (NAMES if few else OFTEN))


@variants("api", [(api,) for api in ONE_THING], quick=[("describe_configs",)])
def test_one_thing_with_very_many_parts(brokers: dict[str, BrokerProcess], api: str) -> None:
    broker = brokers[ALLOWED]
    version, count, body = ONE_THING[api]
    request = frame(encode_request(api, version, 1, body(count)))
    with RawClient(broker.host, broker.port) as client, RawClient(broker.host, broker.port) as other:
        client.settimeout(60.0)
        client.create_topics_answer("g")
        client.call(api, version, **body(1))  # its schema is loaded
        with nobody_waits(other, broker, pause_max_s=PAUSE_MAX_S if api in MANY_OBJECTS else 0.1):
            client.send_bytes(request)
            client.receive_frame()


@pytest.mark.full
def test_very_many_topics_that_come_to_be(tmp_path: Path) -> None:
    broker = start(tmp_path, "User:ANONYMOUS")  # one of its own: others would look after all of them
    try:
        ask(broker, "metadata", [f"n{number:06}" for number in range(NAMES)], allow_auto_topic_creation=True)
    finally:
        broker.stop()


def ask(broker: BrokerProcess, api: str, names: list[str], **fields: Any) -> None:
    version, make_body = REQUESTS[api]

    def body(names: list[str]) -> dict[str, Any]:
        return make_body(names) | fields

    request = frame(encode_request(api, version, 1, body(names)))
    with RawClient(broker.host, broker.port) as client, RawClient(broker.host, broker.port) as other:
        client.settimeout(60.0)
        client.call(api, version, **body(names[:1]))  # its schema is loaded
        with nobody_waits(other, broker):
            client.send_bytes(request)
            client.receive_frame()
