"""Groups and offsets over the admin API, beside real consumers and push clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.rest.conftest import Rest
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-18")


@contextmanager
def consuming(process: PenstockProcess, group: str, topic: str) -> Iterator[Consumer]:
    """A member that has partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": process.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.metrics.push": False,
            "client.id": "a-client",
        }
    )
    consumer.subscribe([topic])
    try:
        wait_until(lambda: consumer.poll(0.05) is None and bool(consumer.assignment()), what="partitions")
        yield consumer
    finally:
        consumer.close()


def commit(admin: AdminClient, group: str, topic: str, *offsets: int) -> None:
    parts = [TopicPartition(topic, index, offset) for index, offset in enumerate(offsets)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, parts)])[group].result()


def committed(admin: AdminClient, group: str) -> dict[int, int]:
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result()
    return {part.partition: part.offset for part in answer.topic_partitions}


def test_a_group_with_a_member(rest: Rest, admin: AdminClient, process: PenstockProcess) -> None:
    topic, group = rest.topic(2), unique_name("group")
    rest.send(topic, "a", "b", "c", partition=0)
    commit(admin, group, topic, 1, 0)
    with consuming(process, group, topic):
        details = rest.ok("GET", f"/groups/{group}")
        assert (details["kind"], details["state"], details["members"], details["lag"]) == ("consumer", "Stable", 1, 2)
        (member,) = details["member_list"]
        assert (member["client_id"], member["host"]) == ("a-client", "127.0.0.1")
        assert member["assignment"] == {topic: [0, 1]}
        (listed,) = (each for each in rest.ok("GET", "/groups?limit=1000")["groups"] if each["group"] == group)
        assert listed == {key: details[key] for key in listed}
        for body in ({"to": "earliest"}, {"to": "earliest", "dry_run": True}):
            told = rest.refused(409, "NON_EMPTY_GROUP", "POST", f"/groups/{group}/offsets/reset", body)
            assert "stop its consumers first" in told
        assert "stop its consumers" in rest.refused(409, "NON_EMPTY_GROUP", "DELETE", f"/groups/{group}")
    wait_until(lambda: rest.ok("GET", f"/groups/{group}")["state"] == "Empty", what="it has left")
    assert committed(admin, group) == {0: 1, 1: 0}
    assert rest("DELETE", f"/groups/{group}").status == 204
    assert "GET /api/v1/groups lists" in rest.refused(404, "GROUP_ID_NOT_FOUND", "GET", f"/groups/{group}")
    rest.refused(404, "GROUP_ID_NOT_FOUND", "DELETE", f"/groups/{group}")


def test_offsets_and_lag(rest: Rest, admin: AdminClient) -> None:
    topic, group = rest.topic(5), unique_name("group")
    rest.send(topic, "a", "b", "c", partition=3)
    commit(admin, group, topic, 0, 0, 0, 1, 0)
    pages = rest.pages(f"/groups/{group}/offsets?limit=2", "offsets")
    assert [[each["partition"] for each in page] for page in pages] == [[0, 1], [2, 3], [4]]
    row = pages[1][1]
    assert (row["committed"], row["log_start"], row["high_watermark"], row["lag"]) == (1, 0, 3, 2)
    rest.ok("DELETE", f"/topics/{topic}")
    assert rest("GET", f"/groups/{group}/offsets").status in (200, 404)


def test_resets(rest: Rest, admin: AdminClient) -> None:
    topic, group = rest.topic(2), unique_name("group")
    path = f"/groups/{group}/offsets/reset"
    for number in range(6):
        rest.send(topic, f"{number}", partition=0, timestamp=1_000_000 + number)
    commit(admin, group, topic, 4, 0)
    dry = rest.ok("POST", path, {"to": "earliest", "dry_run": True})
    assert [(each["partition"], each["before"], each["after"]) for each in dry["offsets"]] == [(0, 4, 0), (1, 0, 0)]
    assert committed(admin, group) == {0: 4, 1: 0}
    for body, expected in (
        ({"to": "earliest"}, 0),
        ({"to": "latest"}, 6),
        ({"to": "offset", "offset": 2}, 2),
        ({"to": "time", "time": "1000003"}, 3),
        ({"to": "time", "time": "1970-01-01T00:16:40.005Z"}, 5),
        ({"to": "time", "time": "2038-01-01"}, 6),
    ):
        answer = rest.ok("POST", path, body)
        assert answer["offsets"][0]["after"] == expected, body
        assert committed(admin, group)[0] == expected
    answer = rest.ok("POST", path, {"to": "offset", "offset": 99, "topics": [{"topic": topic, "partitions": [0]}]})
    (moved,) = answer["offsets"]
    assert (moved["after"], "only 0 to 6: the end is taken" in moved["remark"]) == (6, True)


def test_a_reset_is_where_a_consumer_goes_on(rest: Rest, process: PenstockProcess) -> None:
    topic, group = rest.topic(), unique_name("new/group")
    rest.send(topic, "a", "b", "c")
    name = group.replace("/", "%2F")
    rest.ok("POST", f"/groups/{name}/offsets/reset", {"to": "offset", "offset": 1, "topics": [{"topic": topic}]})
    process.kill9()
    process.start()
    wait_until(lambda: rest("GET", f"/groups/{name}").status == 200, what="groups are loaded")
    consumer = Consumer(
        {"bootstrap.servers": process.bootstrap, "group.id": group, "enable.metrics.push": False, "client.id": "c"}
    )
    consumer.subscribe([topic])
    try:
        message = consumer.poll(20)
        assert message is not None
        assert message.value() == b"b"
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "to: Field required"),
        ({"to": "start"}, "'earliest'"),
        ({"to": "offset"}, "to: offset needs offset"),
        ({"to": "time"}, "to: time needs time"),
        ({"to": "earliest", "offset": 3}, "leave one of them out"),
        ({"to": "offset", "offset": 3, "time": "5"}, "leave one of them out"),
        ({"to": "offset", "offset": -1}, "offset"),
        ({"to": "time", "time": "noon"}, "time"),
        ({"to": "earliest", "topics": []}, "topics"),
        ({"to": "earliest", "dryrun": True}, "dryrun: there is no such field"),
        ({"to": "earliest", "dry_run": "yes"}, "dry_run"),
    ],
)
def test_bad_resets(rest: Rest, body: object, told: str) -> None:
    assert told in rest.refused(400, "INVALID_REQUEST", "POST", "/groups/g/offsets/reset", body)


def test_resets_of_what_is_not_there(rest: Rest) -> None:
    path = f"/groups/{unique_name('nobody')}/offsets/reset"
    rest.refused(404, "GROUP_ID_NOT_FOUND", "POST", path, {"to": "earliest"})
    nowhere = {"to": "earliest", "topics": [{"topic": "nowhere"}]}
    rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "POST", path, nowhere)
    topic = rest.topic()
    beyond = {"to": "earliest", "topics": [{"topic": topic, "partitions": [0, 3]}]}
    assert "0 to 0" in rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "POST", path, beyond)
    twice = {"to": "earliest", "topics": [{"topic": topic}, {"topic": topic, "partitions": [0]}]}
    assert "name it once" in rest.refused(400, "INVALID_REQUEST", "POST", path, twice)


def test_pages_and_states(rest: Rest, admin: AdminClient) -> None:
    topic, prefix = rest.topic(), unique_name("many")
    for number in range(5):
        commit(admin, f"{prefix}-{number}", topic, 0)
    names = [each["group"] for page in rest.pages("/groups?limit=2&state=Empty", "groups") for each in page]
    assert [name for name in names if name.startswith(prefix)] == [f"{prefix}-{number}" for number in range(5)]
    assert names == sorted(set(names))
    assert rest.ok("GET", "/groups?state=Stable")["groups"] == []
    rest.refused(400, "INVALID_REQUEST", "GET", "/groups?state=Sleepy")
    rest.refused(400, "INVALID_REQUEST", "GET", "/groups?cursor=xyz")
