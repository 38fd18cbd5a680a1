"""Fetch with many partitions: answered as any other, and what waits for data in all of them costs others nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient
from tests.support.undisturbed import nobody_waits

pytestmark = [pytest.mark.feature("F-01"), pytest.mark.usefixtures("penstock_only")]

Connect = Callable[[], RawClient]
MANY, VERY_MANY = 150, 1_200
"""Looked at in one go, and not; both wait as those with many do."""
LONG_WAIT_MS = 60_000
BATCH = batches.values("value")


@pytest.fixture(scope="module", params=[MANY, VERY_MANY])
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def asked(client: RawClient, topic: str, width: int, **options: Any) -> dict[str, Any]:
    values = client.fetch_values(topic, 0, **options)
    (row,) = values["topics"][0]["partitions"]
    values["topics"][0]["partitions"] = [{**row, "partition": index} for index in range(width)]
    return values


def found(answer: Any) -> dict[int, int]:
    """Partitions of an answer with records, and the size of these."""
    rows = (each for topic in answer.responses for each in topic.partitions)
    return {each.partition_index: len(each.records) for each in rows if each.records}


def still_waits(reader: RawClient) -> bool:
    is_silent = reader.silent(for_s=0.1)
    reader.settimeout(20.0)
    return is_silent


def test_it_waits_for_bytes_of_all_partitions_together(client: RawClient, connect: Connect, width: int) -> None:
    topic, reader = client.create_topic(partitions=width), connect()
    client.appended(topic, BATCH, partition=3)
    values = asked(client, topic, width, max_wait=LONG_WAIT_MS, min_bytes=3 * len(BATCH))
    reader.send("fetch", 12, **values)
    assert still_waits(reader)
    client.appended(topic, BATCH, partition=width - 1)
    assert still_waits(reader)
    client.appended(topic, BATCH, partition=3)
    assert found(reader.receive("fetch", 12)[1]) == {3: 2 * len(BATCH), width - 1: len(BATCH)}


def test_the_answer_has_what_came_until_time_was_up(client: RawClient, connect: Connect, width: int) -> None:
    topic, reader = client.create_topic(partitions=width), connect()
    reader.send("fetch", 12, **asked(client, topic, width, max_wait=1_000, min_bytes=1 << 30))
    assert still_waits(reader)
    client.appended(topic, BATCH, partition=7)
    assert found(reader.receive("fetch", 12)[1]) == {7: len(BATCH)}


def test_an_open_transaction_is_nothing_new_and_its_end_is(client: RawClient, connect: Connect, width: int) -> None:
    topic, reader = client.create_topic(partitions=width), connect()
    transaction = TransactionClient(client, unique_name("tx"), V2, timeout=LONG_WAIT_MS).init()
    reader.send("fetch", 12, **asked(client, topic, width, max_wait=LONG_WAIT_MS, isolation_level=1))
    transaction.send(topic, "a")
    client.appended(topic, BATCH)
    assert still_waits(reader)
    transaction.commit()
    assert list(found(reader.receive("fetch", 12)[1])) == [0]


def test_a_topic_that_is_deleted(client: RawClient, connect: Connect, width: int) -> None:
    topic, reader = client.create_topic(partitions=width), connect()
    reader.send("fetch", 12, **asked(client, topic, width, max_wait=LONG_WAIT_MS))
    assert still_waits(reader)
    client.delete_topic(topic)
    answer = reader.receive("fetch", 12)[1]
    assert {each.error_code for each in answer.responses[0].partitions} == {ErrorCode.unknown_topic_or_partition}


def test_a_session(client: RawClient, connect: Connect, width: int) -> None:
    """Data in a partition that has had none for long, and no further answer about the others."""
    topic, reader = client.create_topic(partitions=width), connect()
    first = reader.call("fetch", 12, **asked(client, topic, width, session_epoch=0))
    assert len(first.responses[0].partitions) == width
    options = {"session_id": first.session_id, "max_wait": LONG_WAIT_MS}
    changes: list[dict[str, Any]] = []
    for epoch, partition in ((1, 5), (2, width - 1)):
        reader.send("fetch", 12, **client.fetch_values(topic, 0, session_epoch=epoch, **options) | {"topics": changes})
        assert still_waits(reader)
        client.appended(topic, BATCH, partition=partition)
        answer = reader.receive("fetch", 12)[1]
        assert (answer.session_id, found(answer)) == (first.session_id, {partition: len(BATCH)})
        rows = [{**client.fetch_values(topic, 1)["topics"][0]["partitions"][0], "partition": partition}]
        changes = [{"topic": topic, "partitions": rows}]


def test_a_session_with_very_many_errors_ends(client: RawClient) -> None:
    """They would be sent again with every answer; a client without a session has to ask for them."""
    topic = client.create_topic()
    values = asked(client, topic, 900, session_epoch=0)
    session_id = client.call("fetch", 12, **values).session_id
    assert session_id
    for row in values["topics"][0]["partitions"]:
        row["partition"] += 900
    more = client.call("fetch", 12, **values | {"session_id": session_id, "session_epoch": 1})
    assert (more.error_code, len(more.responses[0].partitions)) == (ErrorCode.none, 1_799)
    answer = client.call("fetch", 12, **values | {"session_id": session_id, "session_epoch": 2, "topics": []})
    assert answer.error_code == ErrorCode.fetch_session_id_not_found


def test_small_requests_of_a_session_with_very_many_partitions(
    client: RawClient, connect: Connect, broker: BrokerProcess
) -> None:
    topic = client.create_topic()
    values = asked(client, topic, 60_000, session_epoch=0)
    client.settimeout(60.0)
    session_id = client.call("fetch", 12, **values).session_id
    for isolation in (0, 7):
        again = {"session_id": session_id, "session_epoch": 1, "topics": [], "isolation_level": isolation}
        with nobody_waits(connect(), broker):
            client.call("fetch", 12, **values | again)


def test_many_fetches_that_wait_for_the_same_data(client: RawClient, connect: Connect, broker: BrokerProcess) -> None:
    topic = client.create_topic(partitions=2_000)
    options = {"max_wait": LONG_WAIT_MS, "min_bytes": 1 << 30, "isolation_level": 1}
    readers = [connect() for _ in range(20)]
    for reader in readers:
        reader.send("fetch", 12, **asked(client, topic, 2_000, **options))
    assert all(map(still_waits, readers))
    with nobody_waits(connect(), broker):
        for _ in range(5):
            client.appended(topic, BATCH)
