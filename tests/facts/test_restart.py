"""The state of a broker after it was stopped, or killed, and started again."""

from collections.abc import Callable, Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import idempotent
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import (
    NOT_READY,
    commit,
    committed,
    fetch_offsets,
    heartbeat,
    joined_alone,
    wait_for_coordinator,
)
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("F-01", "P-05"), pytest.mark.crash]

BLOCK_OF_PRODUCER_IDS = 1_000


class Restartable:
    """A broker with a raw client that survives restarts by reconnecting."""

    def __init__(self, process: BrokerProcess) -> None:
        self.process = process
        self.client = RawClient(process.host, process.port)

    def stop_and_start(self) -> None:
        self.client.close()
        self.process.restart()
        self.connect()

    def kill_and_start(self) -> None:
        self.client.close()
        self.process.kill9()
        self.process.start()
        self.connect()

    def connect(self) -> None:
        self.client = RawClient(self.process.host, self.process.port)

    def wait_for(self, topic: str, partitions: int = 1) -> None:
        self.client.wait_for_topic(topic, partitions)


@pytest.fixture
def restartable(own_broker: BrokerProcess) -> Iterator[Restartable]:
    if not own_broker.running:
        own_broker.start()
    subject = Restartable(own_broker)
    yield subject
    subject.client.close()


STOPPED = pytest.param(Restartable.stop_and_start, id="stopped")
KILLED = pytest.param(Restartable.kill_and_start, id="killed")


# Quick runs stop a broker in one test and kill it in all: what survives the second survives the first.
@pytest.fixture(params=[pytest.param(*STOPPED.values, id="stopped", marks=pytest.mark.full), KILLED])
def start_again(request: pytest.FixtureRequest, restartable: Restartable) -> Callable[[], None]:
    if not restartable.process.is_durable:
        pytest.skip("the memory engine keeps nothing over a start")
    way: Callable[[Restartable], None] = request.param
    return lambda: way(restartable)


def leader_epoch(client: RawClient, topic: str) -> int:
    (found,) = client.metadata(topic).topics
    return int(found.partitions[0].leader_epoch)


def end_of_epoch(client: RawClient, topic: str, epoch: int) -> tuple[int, int]:
    wanted = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": epoch}
    answer = client.call("offset_for_leader_epoch", 4, replica_id=-2, topics=[{"topic": topic, "partitions": [wanted]}])
    (found,) = answer.topics[0].partitions
    assert found.error_code == ErrorCode.none
    return int(found.leader_epoch), int(found.end_offset)


@pytest.mark.parametrize("start_again", [STOPPED, KILLED], indirect=True)
def test_records_and_topics_survive(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """Records, topic ids, partition counts, configs, log starts and the cluster id are the same afterwards."""
    client = restartable.client
    topic = client.create_topic(partitions=3, configs={"retention.ms": "777777"})
    deleted = client.create_topic()
    client.appended(deleted, batches.values("gone"))
    client.delete_topic(deleted)
    for number in range(20):
        client.appended(topic, batches.values(f"{number}"), partition=number % 3)
    client.delete_records(topic, 2, partition=1)
    topic_id, cluster_id = client.topic_id(topic), client.metadata().cluster_id

    start_again()

    client = restartable.client
    restartable.wait_for(topic, 3)
    assert client.topic_id(topic) == topic_id
    assert client.metadata().cluster_id == cluster_id
    assert [client.log_end(topic, partition) for partition in range(3)] == [7, 7, 6]
    if restartable.process.kind == "penstock":  # Kafka checkpoints log starts now and then, a kill undoes them
        assert [client.log_start(topic, partition) for partition in range(3)] == [0, 2, 0]
    values = [record.value for record in client.fetch_records(topic, partition=0)]
    assert values == [b"%d" % number for number in range(0, 20, 3)]
    resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]}
    (result,) = client.call("describe_configs", 4, resources=[resource]).results
    assert result.configs[0].value == "777777"
    (gone,) = client.metadata(deleted).topics
    assert gone.error_code == ErrorCode.unknown_topic_or_partition


def test_leader_epochs_rise(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """Each start has a higher leader epoch, new batches carry it, and the end of the old one is known."""
    topic = restartable.client.create_topic()
    first = leader_epoch(restartable.client, topic)
    restartable.client.appended(topic, batches.values("a", "b"))

    start_again()

    client = restartable.client
    restartable.wait_for(topic)
    second = leader_epoch(client, topic)
    assert second > first
    client.appended(topic, batches.values("c"))
    assert [batch.leader_epoch for batch in client.fetch_batches(topic)] == [first, second]
    assert end_of_epoch(client, topic, first) == (first, 2)
    assert end_of_epoch(client, topic, second) == (second, 3)
    fenced = client.fetch(topic, 0, current_leader_epoch=first)
    assert fenced.error_code == ErrorCode.fenced_leader_epoch
    diverging = client.fetch(topic, 3, last_fetched_epoch=first)
    assert (diverging.error_code, diverging.records) == (ErrorCode.none, b"")
    assert (diverging.diverging_epoch.epoch, diverging.diverging_epoch.end_offset) == (first, 2)


@pytest.mark.feature("X-02")
def test_producer_ids_come_in_blocks(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """Ids are taken from durable blocks of 1,000: after a start the next block begins, and none is given twice."""
    before, _ = restartable.client.new_producer_id()

    start_again()

    after, _ = restartable.client.new_producer_id()
    assert after == (before // BLOCK_OF_PRODUCER_IDS + 1) * BLOCK_OF_PRODUCER_IDS
    again, _ = restartable.client.new_producer_id()
    assert again == after + 1


@pytest.mark.feature("X-02")
def test_idempotence_holds(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """Duplicates of before are still duplicates, gaps are still gaps, and the producer goes on.

    Penstock remembers a producer's last five batches; Kafka's snapshot holds only the last one.
    """
    topic = restartable.client.create_topic()
    producer_id, epoch = restartable.client.new_producer_id()
    sent = [idempotent(producer_id, epoch, 2 * number, count=2) for number in range(7)]
    for records in sent:
        restartable.client.appended(topic, records)

    start_again()

    client = restartable.client
    restartable.wait_for(topic)
    remembered = 5 if restartable.process.kind == "penstock" else 1
    for number in range(7 - remembered, 7):
        assert client.appended(topic, sent[number]) == 2 * number
    assert client.produce(topic, sent[1]).error_code == ErrorCode.out_of_order_sequence_number
    gap = idempotent(producer_id, epoch, 20)
    assert client.produce(topic, gap).error_code == ErrorCode.out_of_order_sequence_number
    assert client.appended(topic, idempotent(producer_id, epoch, 14)) == 14
    assert client.log_end(topic) == 15


@pytest.mark.feature("X-02")
def test_producer_state_outlives_deleted_records_and_a_restart(
    restartable: Restartable, start_again: Callable[[], None]
) -> None:
    """A producer is remembered even when all of its records were deleted before the restart; Kafka forgets it."""
    if restartable.process.kind != "penstock":
        pytest.skip("Apache Kafka forgets the producer and would store its batch again")
    topic = restartable.client.create_topic()
    producer_id, epoch = restartable.client.new_producer_id()
    last = idempotent(producer_id, epoch, 0, count=3)
    restartable.client.appended(topic, last)
    assert restartable.client.delete_records(topic, -1).low_watermark == 3

    start_again()

    restartable.wait_for(topic)
    assert restartable.client.appended(topic, last) == 0
    assert restartable.client.log_end(topic) == 3


@pytest.mark.feature("K-05")
def test_members_keep_their_generation(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """A group's members go on after a start as if nothing had happened: no rebalance."""
    group = unique_name("group")
    topic = restartable.client.create_topic()
    member = joined_alone(restartable.client, group, session_timeout=60_000, assignment=b"share")

    start_again()

    client = restartable.client
    wait_for_coordinator(client)
    restartable.wait_for(topic)
    member.connection = client
    assert member.heartbeat() == ErrorCode.none
    assert member.commit(topic, 4) == ErrorCode.none
    (described,) = client.call("describe_groups", 5, groups=[group]).groups
    assert described.group_state == "Stable"
    assert [(each.member_id, each.member_assignment) for each in described.members] == [(member.member_id, b"share")]


@pytest.mark.feature("K-08")
def test_committed_offsets_survive(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """Offsets and their metadata are there after a start, and never answered as missing while they load."""
    group = unique_name("group")
    topic = restartable.client.create_topic()
    assert commit(restartable.client, group, topic, 1234, metadata="a note") == ErrorCode.none

    start_again()

    def loaded() -> bool:
        answer = fetch_offsets(restartable.client, group, {topic: [0]})
        if answer.error_code in NOT_READY:
            return False
        (found,) = answer.topics[0].partitions
        assert (found.committed_offset, found.metadata) == (1234, "a note")
        return True

    wait_until(loaded, what="the coordinator has loaded")
    assert committed(restartable.client, group, topic).committed_offset == 1234


def test_a_deleted_group_stays_deleted(restartable: Restartable, start_again: Callable[[], None]) -> None:
    """Deleted parts of a group's state do not come back after a start."""
    group = unique_name("group")
    topic = restartable.client.create_topic()
    commit(restartable.client, group, topic, 5)
    restartable.client.call("delete_groups", 2, groups_names=[group])

    start_again()

    wait_for_coordinator(restartable.client)
    assert committed(restartable.client, group, topic).committed_offset == -1
    (described,) = restartable.client.call("describe_groups", 5, groups=[group]).groups
    assert described.group_state == "Dead"


def test_fetch_sessions_do_not_survive(restartable: Restartable) -> None:
    """Fetch sessions live in memory: after a start they are FETCH_SESSION_ID_NOT_FOUND."""
    topic = restartable.client.create_topic()
    opened = restartable.client.call("fetch", 12, **restartable.client.fetch_values(topic, 0, session_epoch=0))

    restartable.stop_and_start()

    client = restartable.client
    values = client.fetch_values(topic, 0, session_id=opened.session_id, session_epoch=1)
    answer = client.call("fetch", 12, **values)
    assert answer.error_code == ErrorCode.fetch_session_id_not_found


@pytest.mark.feature("F-06")
def test_a_stop_does_not_wait_for_waiting_fetches(restartable: Restartable) -> None:
    """SIGTERM ends a broker cleanly within seconds although fetches wait on it; they are answered or closed."""
    client = restartable.client
    topic = client.create_topic()
    client.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=300_000))
    assert client.silent(for_s=0.2)

    restartable.process.stop()

    assert not client.silent(for_s=5.0)


def test_heartbeats_of_strangers_after_a_start(restartable: Restartable) -> None:
    """A member that the broker never knew stays unknown after a start."""
    restartable.stop_and_start()
    wait_for_coordinator(restartable.client)
    code = heartbeat(restartable.client, unique_name("group"), 1, "stranger")
    assert code == ErrorCode.unknown_member_id
