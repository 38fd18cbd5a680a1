"""Topics that are deleted and made again under the same name: nothing of the first one may show in the second."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.configs import TOPIC, describe_configs
from tests.differential.steps.groups import commit_body, fetch_offsets_body
from tests.differential.steps.topics import (
    EARLIEST,
    LATEST,
    NO_ID,
    WRONG_ID,
    create,
    delete,
    fetch,
    list_offset,
    produce,
    values,
)


def _metadata(peer: Peer, *topics: dict[str, str | None], version: int = 12) -> None:
    peer.ask("metadata", version, {"topics": list(topics), "allow_auto_topic_creation": False})


@script("topic-ids-old-and-new", seconds=3, family="topic-lives")
def ids_old_and_new(peer: Peer) -> None:
    """The old id in Produce, Fetch and Metadata: while the topic is gone, and when it is there again."""
    topic = create(peer, "lives")
    produce(peer, topic, values("first life"))
    old = peer.topic_id(topic)
    produce(peer, old, values("by id"), version=13)
    fetch(peer, old, 0, version=13)
    _metadata(peer, {"name": None, "topic_id": old})
    delete(peer, topic)

    def look(label: str) -> None:
        for version in (3, 9, 12):
            produce(peer, topic, values("second life"), version=version, label=label)
        produce(peer, old, values("old id"), version=13, label=label)
        for version in (4, 11, 12):
            fetch(peer, topic, 0, version=version, label=label)
        for version in (13, 16, 17, 18):
            fetch(peer, old, 0, version=version, label=label)
        for version in (10, 12, 13):
            _metadata(peer, {"name": None, "topic_id": old}, {"name": None, "topic_id": WRONG_ID}, version=version)
        _metadata(peer, {"name": topic, "topic_id": NO_ID})
        list_offset(peer, topic, EARLIEST, LATEST, label=label)
        peer.ask("delete_topics", 6, {"topics": [{"name": None, "topic_id": old}], "timeout": 5_000}, label=label)

    look("gone")
    create(peer, "lives")
    look("again")
    new = peer.topic_id(topic)
    produce(peer, new, values("new id"), version=13)
    fetch(peer, new, 0, version=13)
    for version in (10, 13):
        _metadata(peer, {"name": None, "topic_id": new}, version=version)
    _metadata(peer, {"name": topic, "topic_id": new})
    _metadata(peer, {"name": topic, "topic_id": old})
    peer.ask("delete_topics", 6, {"topics": [{"name": None, "topic_id": new}], "timeout": 5_000})


@script("topic-offsets-of-the-deleted", seconds=3, family="topic-lives")
def offsets_of_the_deleted(peer: Peer) -> None:
    """Committed offsets go with the topic, in every kind of look-up."""
    topic, other = create(peer, "gone", partitions=2), create(peer, "stays")
    group = peer.name("readers")
    peer.ask("offset_commit", 8, commit_body(group, [(topic, 0, 5), (topic, 1, 6), (other, 0, 7)]))
    old = peer.topic_id(topic)
    delete(peer, topic)
    peer.until(
        lambda: peer.quietly("offset_fetch", 7, fetch_offsets_body(group, None)),
        lambda answer: len(answer["topics"]) == 1,
    )
    peer.ask("offset_fetch", 7, fetch_offsets_body(group, {topic: [0, 1], other: [0]}))
    peer.ask("offset_fetch", 10, fetch_offsets_body(group, {old: [0, 1]}))
    peer.ask("offset_commit", 8, commit_body(group, [(topic, 0, 5), (other, 0, 8)]))
    create(peer, "gone", partitions=2)
    peer.ask("offset_fetch", 7, fetch_offsets_body(group, {topic: [0, 1]}))
    peer.ask("offset_fetch", 10, fetch_offsets_body(group, {old: [0], peer.topic_id(topic): [0]}))
    peer.ask("offset_commit", 10, commit_body(group, [(old, 0, 5), (peer.topic_id(topic), 1, 1)]))
    peer.ask("offset_fetch", 9, fetch_offsets_body(group, None))


@script("topic-configs-of-the-deleted", seconds=2, family="topic-lives")
def configs_of_the_deleted(peer: Peer) -> None:
    """Configs and the number of partitions are those of the new topic."""
    topic = create(peer, "configured", partitions=3, max_message_bytes="2000", cleanup_policy="compact,delete")
    keys = ["max.message.bytes", "cleanup.policy", "retention.ms"]
    describe_configs(peer, TOPIC, topic, keys)
    delete(peer, topic)
    describe_configs(peer, TOPIC, topic, keys)
    create(peer, "configured")
    describe_configs(peer, TOPIC, topic, keys)
    produce(peer, topic, values("x" * 3_000))
    produce(peer, topic, values("x"), partition=1)
    _metadata(peer, {"name": topic, "topic_id": NO_ID})


@script("topic-waiting-when-deleted", seconds=3, family="topic-lives")
def waiting_when_deleted(peer: Peer) -> None:
    """A fetch that waits in a topic which is deleted is answered, and says so."""
    topic = create(peer, "waiting")
    body = {
        "replica_id": -1, "max_wait": 9_000, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]}],
    }  # fmt: skip
    waiting = peer.send("fetch", 11, body, on="waiting")
    assert peer.pending(waiting, for_s=0.2)
    peer.ask("delete_topics", 5, {"topic_names": [topic], "timeout": 10_000})
    peer.take(waiting, within_s=12)
