"""Settings that change what the door answers; each test starts a broker of its own with them."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record
from tests.support.broker_process import BrokerProcess, answers_kafka
from tests.support.fixtures import running, target_kind
from tests.support.group_client import commit, committed, join, join_values, joined_alone, new_member_id
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01", "P-25")

DELAY_MS = 1_500
EXPIRED_WITHIN_S = 150.0

StartWith = Callable[[str, Mapping[str, str] | None], BrokerProcess]


@pytest.fixture
def start_with(tmp_path: Path) -> Iterator[StartWith]:
    """Start a broker with settings in each one's own words; without Kafka's words only Penstock is meant."""
    started: list[Iterator[BrokerProcess]] = []

    def start(penstock: str, kafka: Mapping[str, str] | None) -> BrokerProcess:
        if "PENSTOCK_TEST_BOOTSTRAP" in os.environ:
            pytest.skip("needs a broker with settings of its own")
        if target_kind() == "penstock":
            process: BrokerProcess = PenstockProcess(tmp_path / "broker", penstock)
        elif kafka is None:
            pytest.skip("a setting of Penstock's own")
        else:
            process = KafkaProcess(tmp_path / "broker", dict(kafka))
        started.append(running(process))
        return next(started[-1])

    yield start
    for each in started:
        next(each, None)


@contextmanager
def raw(process: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(process.host, process.port) as client:
        yield client


# ------------------------------------------------------------------------------------------------------------- groups


def test_the_first_rebalance_waits_for_more_members(start_with: StartWith) -> None:
    """A new group waits for `group.initial.rebalance.delay.ms`, so that members starting together share one round."""
    broker = start_with(
        f"groups:\n  initial_rebalance_delay_ms: {DELAY_MS}\n",
        {"group.initial.rebalance.delay.ms": str(DELAY_MS)},
    )
    group = unique_name("group")
    with raw(broker) as first, raw(broker) as second:
        ids = [new_member_id(client, group) for client in (first, second)]
        started = time.monotonic()
        first.send("join_group", 5, **join_values(group, member_id=ids[0]))
        second.send("join_group", 5, **join_values(group, member_id=ids[1]))
        answers = [client.receive("join_group", 5)[1] for client in (first, second)]
        assert time.monotonic() - started >= DELAY_MS / 1000 - 0.1
    assert {answer.generation_id for answer in answers} == {1}
    assert {len(answer.members) for answer in answers} == {0, 2}


def test_by_default_a_single_new_member_hardly_waits(start_with: StartWith) -> None:
    """Kafka's three seconds are a quarter of one here; two that join together still share the first generation."""
    broker = start_with("", None)
    pair, took = unique_name("pair"), []
    with raw(broker) as first, raw(broker) as second:
        for _ in range(3):  # of which the quickest counts: a busy machine only adds
            started = time.monotonic()
            assert join(first, unique_name("alone"), version=3).generation_id == 1
            took.append(time.monotonic() - started)
        assert 0.2 <= min(took) < 2.0
        ids = [new_member_id(client, pair) for client in (first, second)]
        for client, member_id in zip((first, second), ids, strict=True):
            client.send("join_group", 5, **join_values(pair, member_id=member_id))
        answers = [client.receive("join_group", 5)[1] for client in (first, second)]
    assert {answer.generation_id for answer in answers} == {1}


def test_session_timeouts_are_bounded_by_settings(start_with: StartWith) -> None:
    """`group.min.session.timeout.ms` and `group.max.session.timeout.ms` bound what a member may ask for."""
    broker = start_with(
        "groups:\n  session_timeout_min_ms: 1000\n  session_timeout_max_ms: 2000\n  initial_rebalance_delay_ms: 0\n",
        {"group.min.session.timeout.ms": "1000", "group.max.session.timeout.ms": "2000"},
    )
    with raw(broker) as client:
        for timeout, code in ((999, 26), (1000, 0), (2000, 0), (2001, 26)):
            answer = join(client, unique_name("group"), version=3, session_timeout=timeout)
            assert answer.error_code == code


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_offsets_expire_only_in_groups_without_members(start_with: StartWith) -> None:
    """Offsets go when a group has been empty for `offsets.retention.minutes`; in a living group they stay (KIP-211)."""
    broker = start_with(
        "groups:\n  offsets_retention_minutes: 1\n  offsets_retention_check_interval_ms: 1000\n"
        "  initial_rebalance_delay_ms: 0\n",
        {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"},
    )
    living, empty = unique_name("living"), unique_name("empty")
    with raw(broker) as client:
        topic = client.create_topic()
        member = joined_alone(client, living, session_timeout=300_000)
        assert member.commit(topic, 1) == ErrorCode.none
        assert commit(client, empty, topic, 2) == ErrorCode.none

        def expired() -> bool:
            return bool(committed(client, empty, topic).committed_offset == -1)

        started = time.monotonic()
        wait_until(expired, what="the empty group's offset has expired", within_s=EXPIRED_WITHIN_S)
        assert time.monotonic() - started > 55.0
        assert committed(client, living, topic).committed_offset == 1


# ------------------------------------------------------------------------------------------------------------- topics


def test_auto_creation_can_be_switched_off(start_with: StartWith) -> None:
    """Without auto-creation, asking for a topic does not make it, whatever the client allows."""
    broker = start_with("topics:\n  auto_create: false\n", {"auto.create.topics.enable": "false"})
    with raw(broker) as client:
        for _ in range(3):
            (found,) = client.metadata("never-created", create=True).topics
            assert found.error_code == ErrorCode.unknown_topic_or_partition


def test_auto_created_topics_have_the_default_partitions(start_with: StartWith) -> None:
    """Topics made without a number of partitions get the default one, by auto-creation and by −1."""
    broker = start_with("topics:\n  default_partitions: 4\n", {"num.partitions": "4"})
    with raw(broker) as client:
        name = unique_name("auto")
        wait_until(lambda: len(client.metadata(name, create=True).topics[0].partitions) == 4, what="4 partitions")
        answer = client.create_topics_answer(unique_name(), num_partitions=-1, replication_factor=-1)
        assert answer.num_partitions == 4


def test_defaults_of_topic_configs(start_with: StartWith) -> None:
    """The broker's own settings are the defaults of topics that do not set them."""
    broker = start_with('topics:\n  defaults:\n    max.message.bytes: "2000"\n', {"message.max.bytes": "2000"})
    with raw(broker) as client:
        topic = client.create_topic()
        resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": ["max.message.bytes"]}
        (result,) = client.call("describe_configs", 4, resources=[resource]).results
        assert result.configs[0].value == "2000"
        assert client.produce(topic, batches.values(b"x" * 3000)).error_code == ErrorCode.message_too_large


def test_strict_replication_factor(start_with: StartWith) -> None:
    """With `strict_replication_factor` more replicas than nodes are refused, as Kafka always does."""
    broker = start_with("topics:\n  strict_replication_factor: true\n", {})
    with raw(broker) as client:
        answer = client.create_topics_answer(unique_name(), replication_factor=3)
        assert answer.error_code == ErrorCode.invalid_replication_factor


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(batches.batch(body=b"garbage"), id="no record"),
        pytest.param(batches.values("a", "b", count=6, last_offset_delta=5), id="fewer records than counted"),
        pytest.param(
            batches.batch(body=batches.encode_records([Record()], 0) + b"more"), id="bytes behind the records"
        ),
    ],
)
def test_validation_of_records(start_with: StartWith, records: bytes) -> None:
    """With `validation: records` every record is looked at on every topic, as Kafka always does."""
    broker = start_with("topics:\n  validation: records\n", {})
    with raw(broker) as client:
        topic = client.create_topic()
        assert client.produce(topic, records).error_code == ErrorCode.invalid_record
        assert client.log_end(topic) == 0
        assert client.appended(topic, batches.values("good")) == 0


# ---------------------------------------------------------------------------------------------------- the door itself


def test_an_advertised_address(start_with: StartWith) -> None:
    """With `advertised` clients are told that address by Metadata, DescribeCluster and FindCoordinator."""
    broker = start_with("kafka:\n  advertised: broker.example:19092\n", None)
    expected = ("broker.example", 19092)
    with raw(broker) as client:
        (node,) = client.metadata().brokers
        assert (node.host, node.port) == expected
        (described,) = client.call("describe_cluster", 1).brokers
        assert (described.host, described.port) == expected
        coordinator = client.call("find_coordinator", 2, key="group", key_type=0)
        assert (coordinator.host, coordinator.port) == expected


@pytest.mark.feature("F-06")
def test_connections_are_limited(start_with: StartWith) -> None:
    """Connections above the limit of an address are closed; when others go, there is room again."""
    broker = start_with("limits:\n  connections_per_address_max: 5\n", {"max.connections.per.ip": "5"})
    held = [RawClient(broker.host, broker.port) for _ in range(4)]
    for client in held:
        assert client.metadata().brokers
    with RawClient(broker.host, broker.port) as fifth:
        assert fifth.metadata().brokers
        with socket.create_connection((broker.host, broker.port), timeout=5.0) as sixth:
            assert sixth.recv(1) == b""
        assert held[0].metadata().brokers
    wait_until(lambda: answers_kafka(broker.host, broker.port), what="there is room again")
    for client in held:
        client.close()


@pytest.mark.feature("F-06")
def test_frames_are_limited(start_with: StartWith) -> None:
    """A frame above the limit ends its connection, one below it does not."""
    limit = 100_000
    broker = start_with(f"limits:\n  frame_bytes_max: {limit}\n", {"socket.request.max.bytes": str(limit)})
    with raw(broker) as client:
        topic = client.create_topic()
        assert client.appended(topic, batches.values(b"x" * (limit - 1_000))) == 0
        client.send("produce", 9, **client.produce_values(topic, batches.values(b"x" * limit)))
        assert client.closed_by_peer()
    with raw(broker) as client:
        assert client.log_end(topic) == 1


@pytest.mark.slow
@pytest.mark.feature("F-06")
def test_idle_connections_are_closed(start_with: StartWith) -> None:
    """A connection that sends nothing for the idle time is closed, at the latest when idle ones are looked for."""
    broker = start_with("kafka:\n  idle_timeout_ms: 1000\n", {"connections.max.idle.ms": "1000"})
    with raw(broker) as client:
        assert client.metadata().brokers
        assert client.closed_by_peer(within_s=60.0)
