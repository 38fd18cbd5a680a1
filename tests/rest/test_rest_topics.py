"""Topics, partitions and configs over the admin API, and what Kafka clients see of them."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from tests.rest.conftest import Rest
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name

pytestmark = pytest.mark.feature("K-18")


def test_created_here_seen_by_clients(rest: Rest, admin: AdminClient) -> None:
    name = unique_name("orders")
    body = {"name": name, "partitions": 3, "configs": {"retention.ms": 3_600_000, "cleanup.policy": "compact,delete"}}
    answer = rest("POST", "/topics", body)
    assert (answer.status, answer.headers["location"]) == (201, f"/api/v1/topics/{name}")
    seen = admin.list_topics(name, timeout=10).topics[name]
    assert sorted(seen.partitions) == [0, 1, 2]
    resource = ConfigResource(ResourceType.TOPIC, name)
    configs = admin.describe_configs([resource])[resource].result()
    assert (configs["retention.ms"].value, configs["cleanup.policy"].value) == ("3600000", "compact,delete")
    details = rest.ok("GET", f"/topics/{name}")
    assert details["topic_id"] == answer.body["topic_id"] == str(uuid.UUID(details["topic_id"]))
    assert details["configs"] == {"retention.ms": "3600000", "cleanup.policy": "compact,delete"}


def test_created_by_clients_seen_here(rest: Rest, admin: AdminClient) -> None:
    name = unique_name("theirs")
    admin.create_topics([NewTopic(name, 2, 1, config={"max.message.bytes": "5000"})])[name].result()
    assert rest.ok("GET", f"/topics/{name}")["partitions"] == 2
    admin.create_partitions([NewPartitions(name, 5)])[name].result()
    partitions = rest.ok("GET", f"/topics/{name}/partitions")["partitions"]
    assert [each["partition"] for each in partitions] == [0, 1, 2, 3, 4]
    assert {each["leader"] for each in partitions} == {1}
    entry = ConfigEntry("retention.ms", "60000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result()
    assert rest.ok("GET", f"/topics/{name}")["configs"] == {"max.message.bytes": "5000", "retention.ms": "60000"}
    admin.delete_topics([name])[name].result()
    assert "GET /api/v1/topics lists" in rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "GET", f"/topics/{name}")


def test_defaults_and_validate_only(rest: Rest) -> None:
    name = unique_name("default")
    answer = rest("POST", "/topics", {"name": name, "validate_only": True})
    assert (answer.status, answer.body["partitions"]) == (200, 1)
    assert rest("GET", f"/topics/{name}").status == 404
    assert rest.ok("POST", "/topics", {"name": name})["replication_factor"] == 1
    assert rest("POST", f"/topics/{name}/partitions", {"count": 4, "validate_only": True}).status == 200
    assert rest.ok("GET", f"/topics/{name}")["partitions"] == 1


def test_what_is_answered_survives_a_kill(rest: Rest, process: PenstockProcess) -> None:
    topic = rest.topic(2)
    rest.ok("POST", f"/topics/{topic}/partitions", {"count": 3})
    rest.ok("PATCH", f"/topics/{topic}/configs", {"set": {"segment.bytes": "2000000"}})
    rest.ok("DELETE", f"/topics/{(gone := rest.topic())}")
    process.kill9()
    process.start()
    details = rest.ok("GET", f"/topics/{topic}")
    assert (details["partitions"], details["configs"]) == (3, {"segment.bytes": "2000000"})
    assert rest("GET", f"/topics/{gone}").status == 404


def test_more_partitions_and_never_fewer(rest: Rest, admin: AdminClient) -> None:
    topic = rest.topic(2)
    assert rest.ok("POST", f"/topics/{topic}/partitions", {"count": 4})["partitions"] == 4
    assert len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 4
    for count in (4, 3):
        rest.refused(400, "INVALID_PARTITIONS", "POST", f"/topics/{topic}/partitions", {"count": count})
    rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "POST", "/topics/nope/partitions", {"count": 3})


def test_pages_cover_everything_once(rest: Rest) -> None:
    prefix = unique_name("paged")
    for number in range(7):
        rest.ok("POST", "/topics", {"name": f"{prefix}-{number}"})
    pages = rest.pages(f"/topics?limit=3&contains={prefix}", "topics")
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [each["name"] for page in pages for each in page] == [f"{prefix}-{number}" for number in range(7)]
    topic = rest.topic(5)
    pages = rest.pages(f"/topics/{topic}/partitions?limit=2", "partitions")
    assert [[each["partition"] for each in page] for page in pages] == [[0, 1], [2, 3], [4]]


def test_a_page_goes_on_where_a_topic_was_deleted(rest: Rest) -> None:
    prefix = unique_name("moving")
    for number in range(4):
        rest.ok("POST", "/topics", {"name": f"{prefix}-{number}"})
    first = rest.ok("GET", f"/topics?limit=2&contains={prefix}")
    rest.ok("DELETE", f"/topics/{prefix}-1")
    second = rest.ok("GET", f"/topics?limit=2&contains={prefix}&cursor={first['next_cursor']}")
    assert [each["name"] for each in second["topics"]] == [f"{prefix}-2", f"{prefix}-3"]


def test_of_many_who_create_one_topic_one_wins(rest: Rest) -> None:
    name = unique_name("race")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rest("POST", "/topics", {"name": name}), range(8)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 7


def test_internal_topics_are_shown_on_request_and_not_changed(rest: Rest) -> None:
    name = "__consumer_offsets"
    assert name not in [each["name"] for each in rest.ok("GET", "/topics?limit=1000")["topics"]]
    assert name in [each["name"] for each in rest.ok("GET", "/topics?limit=1000&internal=true")["topics"]]
    rest.refused(400, "INVALID_REQUEST", "DELETE", f"/topics/{name}")
    rest.refused(400, "INVALID_REQUEST", "POST", f"/topics/{name}/partitions", {"count": 500})
    rest.refused(400, "INVALID_TOPIC_EXCEPTION", "POST", f"/topics/{name}/messages", {"value": "x"})


@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        ({"name": ""}, "INVALID_TOPIC_EXCEPTION", "empty string"),
        ({"name": "a/b"}, "INVALID_TOPIC_EXCEPTION", "letters, digits, dots"),
        ({"name": "n" * 250}, "INVALID_TOPIC_EXCEPTION", "longer than"),
        ({"name": "__share_group_state"}, "INVALID_REQUEST", "prohibited"),
        ({"name": "x", "partitions": 0}, "INVALID_REQUEST", "partitions: should be greater"),
        ({"name": "x", "partitions": "3"}, "INVALID_REQUEST", "partitions: should be a valid integer"),
        ({"name": "x", "partition": 3}, "INVALID_REQUEST", "partition: there is no such field"),
        ({"partitions": 3}, "INVALID_REQUEST", "name: Field required"),
        ({"name": "x", "configs": {"retention.ms": "soon"}}, "INVALID_CONFIG", "Not a number"),
        ({"name": "x", "configs": {"retention": 1}}, "INVALID_CONFIG", "GET the configs"),
        ({"name": "x", "configs": {"a": []}}, "INVALID_REQUEST", "configs.a: should be a text, a number or a boolean"),
        ({"name": "x", "configs": dict.fromkeys(map(str, range(201)), 1)}, "INVALID_REQUEST", "configs: there are 201"),
        (
            dict.fromkeys(map(str, range(20_000)), 1),
            "INVALID_REQUEST",
            "there are 20000 fields; leave out all but name",
        ),
        ([], "INVALID_REQUEST", "body"),
        (b'{"name" 7}', "INVALID_REQUEST", "not JSON (Expecting ':' delimiter, at character 8); send JSON in UTF-8"),
        (b"\xff", "INVALID_REQUEST", "the body is not JSON; send JSON in UTF-8"),
        (b'{"name": ' + b"[" * 100_000 + b"}", "INVALID_REQUEST", ""),
    ],
)
def test_bad_topics(rest: Rest, body: object, error: str, told: str) -> None:
    before = rest.ok("GET", "/cluster")["topics"]
    assert told in rest.refused(400, error, "POST", "/topics", body)
    assert rest.ok("GET", "/cluster")["topics"] == before


def test_limits_of_the_node_are_told(rest: Rest) -> None:
    told = rest.refused(403, "POLICY_VIOLATION", "POST", "/topics", {"name": "huge", "partitions": 2_000_000_000})
    assert "partitions" in told


def test_configs_are_set_deleted_and_merged(rest: Rest) -> None:
    topic = rest.topic()
    path = f"/topics/{topic}/configs"

    def config(name: str) -> tuple[str, str]:
        (found,) = (each for each in rest.ok("GET", path)["configs"] if each["name"] == name)
        return found["value"], found["source"]

    assert config("retention.ms") == ("604800000", "DEFAULT")
    rest.ok(
        "PATCH", path, {"set": {"retention.ms": 1000, "preallocate": False}, "append": {"cleanup.policy": "compact"}}
    )
    assert config("retention.ms") == ("1000", "TOPIC")
    assert config("cleanup.policy") == ("delete,compact", "TOPIC")
    rest.ok("PATCH", path, {"delete": ["retention.ms"], "subtract": {"cleanup.policy": "delete"}})
    assert config("retention.ms") == ("604800000", "DEFAULT")
    assert config("cleanup.policy") == ("compact", "TOPIC")
    rest.ok("PATCH", path, {"set": {"retention.ms": "5"}, "validate_only": True})
    assert config("retention.ms")[1] == "DEFAULT"


def test_one_bad_config_and_nothing_changes(rest: Rest) -> None:
    topic = rest.topic()
    path = f"/topics/{topic}/configs"
    for body, error in (
        ({"set": {"retention.ms": "5", "segment.bytes": "-1"}}, "INVALID_CONFIG"),
        ({"set": {"retention.ms": "5"}, "delete": ["retention.ms"]}, "INVALID_REQUEST"),
        ({"append": {"retention.ms": "5"}}, "INVALID_CONFIG"),
        ({"set": {"retention.ms": None}}, "INVALID_REQUEST"),
        ({"put": {"retention.ms": "5"}}, "INVALID_REQUEST"),
    ):
        rest.refused(400, error, "PATCH", path, body)
    assert rest.ok("GET", f"/topics/{topic}")["configs"] == {}


def test_broker_configs(rest: Rest, admin: AdminClient) -> None:
    rest.ok("PATCH", "/brokers/1/configs", {"set": {"log.retention.ms": 123_000}})
    try:
        (own,) = (
            each for each in rest.ok("GET", "/brokers/1/configs")["configs"] if each["name"] == "log.retention.ms"
        )
        assert (own["value"], own["source"]) == ("123000", "DYNAMIC_BROKER")
        topic = rest.topic()
        resource = ConfigResource(ResourceType.TOPIC, topic)
        assert admin.describe_configs([resource])[resource].result()["retention.ms"].value == "123000"
    finally:
        rest.ok("PATCH", "/brokers/1/configs", {"delete": ["log.retention.ms"]})
    rest.ok("PATCH", "/cluster/configs", {"set": {"log.segment.bytes": 2_000_000}})
    names = [each["name"] for each in rest.ok("GET", "/cluster/configs")["configs"]]
    assert "log.segment.bytes" in names
    rest.ok("PATCH", "/cluster/configs", {"delete": ["log.segment.bytes"]})
    assert "settings" in rest.refused(400, "INVALID_REQUEST", "PATCH", "/brokers/1/configs", {"set": {"node.id": 3}})
    rest.refused(404, "BROKER_ID_NOT_REGISTERED", "GET", "/brokers/2/configs")
    rest.refused(404, "BROKER_ID_NOT_REGISTERED", "PATCH", "/brokers/2/configs", {"set": {}})


def test_cluster_and_brokers(rest: Rest, admin: AdminClient, process: PenstockProcess) -> None:
    seen = admin.describe_cluster().result()
    cluster = rest.ok("GET", "/cluster")
    assert cluster["cluster_id"] == seen.cluster_id
    (broker,) = rest.ok("GET", "/brokers")["brokers"]
    assert (broker["id"], broker["host"], broker["port"]) == (1, process.host, process.port)
    assert rest.ok("GET", "/brokers/1") == broker
    rest.refused(404, "BROKER_ID_NOT_REGISTERED", "GET", "/brokers/0")
