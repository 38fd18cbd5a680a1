"""State that survives a restart of the broker: members, offsets, producers, configs, records."""

from tests.differential.peer import Peer
from tests.differential.scenarios.idempotence import Producer
from tests.differential.script import script
from tests.differential.steps.configs import SET, TOPIC, change, describe_configs
from tests.differential.steps.groups import (
    EMPTY,
    STABLE,
    Member,
    commit_body,
    describe,
    fetch_offsets_body,
    join_alone,
    join_beside,
    wait_members,
)
from tests.differential.steps.topics import EARLIEST, LATEST, T0, create, delete_records, list_offset, values


def _ready(peer: Peer, topic: str, group: str) -> None:
    """Wait until the broker leads the topic again and has loaded its groups."""
    peer.await_topic(topic)
    loading = (14, 15, 16)
    answer = peer.until(
        lambda: peer.quietly("describe_groups", 5, {"groups": [group]}),
        lambda answer: answer["groups"][0]["error_code"] not in loading,
    )
    assert answer["groups"][0]["error_code"] == 0, answer


@script("restart-groups", seconds=6, family="restarts", own_broker=True, slow=True)
def groups(peer: Peer) -> None:
    """Members keep their generation and their shares; groups without members and offsets are there, too."""
    topic = create(peer, "topic")
    group = peer.name("group")
    leader, static = Member(peer, "leader", group), Member(peer, "static", group, instance="i-static")
    join_alone(leader)
    join_beside(leader, [static])
    leader.commit(topic, 5, committed_metadata="kept")
    former = Member(peer, "former", peer.name("former"))
    join_alone(former)
    former.commit(topic, 6)
    former.leave()
    peer.ask("offset_commit", 8, commit_body(peer.name("simple"), [(topic, 0, 7)]))
    peer.restart()
    _ready(peer, topic, group)
    wait_members(peer, group, STABLE, 2)
    leader.heartbeat()
    static.heartbeat()
    leader.heartbeat(generation_id=1)
    leader.sync()
    static.sync()
    leader.commit(topic, 8)
    describe(peer, former.group, peer.name("simple"), version=6)
    for name in ("group", "former", "simple"):
        peer.ask("offset_fetch", 7, fetch_offsets_body(peer.name(name), None))
    again = Member(peer, "former", former.group)
    join_alone(again)
    returned = Member(peer, "static", group, instance="i-static")
    returned.join(9)
    static.heartbeat()
    leader.leave()
    returned.leave()
    wait_members(peer, group, EMPTY, 0)


@script("restart-producers", seconds=5, family="restarts", own_broker=True, slow=True)
def producers(peer: Peer) -> None:
    """Sequences go on where they were, a repeat is known, and a new producer id is not one that was given out."""
    topic = create(peer, "topic")
    producer = Producer(peer, topic, at=peer.time())  # Kafka forgets producers by the times of their records
    for sequence in range(3):
        producer.send(sequence)
    peer.restart()
    _ready(peer, topic, peer.name("none"))
    producer.send(2)
    producer.send(5)
    producer.send(3)
    peer.until(
        lambda: peer.quietly("init_producer_id", 4, {"transactional_id": None, "transaction_timeout": 1000}),
        lambda answer: answer["error_code"] == 0,
    )
    producer.send(4)


@script("restart-topics", seconds=5, family="restarts", own_broker=True, slow=True)
def topics(peer: Peer) -> None:
    """Topics with their ids, configs, partitions, records and log starts."""
    topic = create(peer, "topic", max_message_bytes="5000")
    peer.ask("produce", 9, {"acks": -1, "timeout": 1000, "topic_data": [
        {"name": topic, "partition_data": [{"index": 0, "records": values("a", "b", "c")}]}]})  # fmt: skip
    delete_records(peer, topic, 1)
    change(peer, TOPIC, topic, [("segment.ms", SET, "7777")])
    topic_id = peer.topic_id(topic)
    peer.restart()
    peer.await_topic(topic)
    peer.note("the same id", peer.topic_id(topic) == topic_id)
    describe_configs(peer, TOPIC, topic, ["max.message.bytes", "segment.ms", "cleanup.policy"])
    for mark in (EARLIEST, LATEST, T0):
        list_offset(peer, topic, mark, version=3)
