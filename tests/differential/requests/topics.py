"""Metadata, CreateTopics, DeleteTopics, CreatePartitions and DescribeTopicPartitions."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import script, versions

NO_SUCH_ID = "7a7a7a7a-0000-4000-8000-000000000001"


@versions("metadata")
def metadata(peer: Peer, version: int) -> None:
    one, two = peer.topic("one"), peer.topic("two", partitions=3)

    def ask(label: str, topics: list[dict[str, Any]] | None, **values: Any) -> None:
        body = {"topics": topics, "allow_auto_topic_creation": False, **values}
        peer.ask("metadata", version, body, label=label)

    ask("no topics" if version else "all topics", [])
    if version >= 1:
        ask("all topics", None)
    ask("two topics", [{"name": two}, {"name": one}])
    ask("authorized operations", [{"name": one}],
        include_cluster_authorized_operations=True, include_topic_authorized_operations=True)  # fmt: skip
    if version >= 4:
        ask("unknown", [{"name": peer.name("unknown")}])
        ask("one known, one not", [{"name": peer.name("unknown")}, {"name": one}])
        ask("twice the same", [{"name": one}, {"name": one}])
        ask("internal", [{"name": "__consumer_offsets"}])
    for label, name in BAD_NAMES.items():
        ask(label, [{"name": name}])
    if version >= 10:
        ask("name and id", [{"name": one, "topic_id": peer.topic_id(one)}])
        ask("no name, no id", [{"name": None, "topic_id": None}])
        ask("no name beside a name", [{"name": None, "topic_id": None}, {"name": one, "topic_id": None}])
        ask("no name beside an id", [{"name": None, "topic_id": None}, {"name": None, "topic_id": peer.topic_id(two)}])
        ask("unknown id", [{"name": None, "topic_id": NO_SUCH_ID}])
        ask("name and a wrong id", [{"name": one, "topic_id": NO_SUCH_ID}])
        ask("by id", [{"name": None, "topic_id": peer.topic_id(two)}])
        ask("by id and by name", [{"name": None, "topic_id": peer.topic_id(two)}, {"name": one}])


BAD_NAMES = {
    "an empty name": "",
    "a dot": ".",
    "two dots": "..",
    "a slash": "a/b",
    "a blank": "a b",
    "letters that are not ASCII": "größe",
    "249 characters and one": "x" * 250,
}


def _new(name: str, **values: Any) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": 1,
        "replication_factor": 1,
        "assignments": [],
        "configs": [],
        **values,
    }


def _configs(**values: str | None) -> list[dict[str, Any]]:
    return [{"name": name.replace("_", "."), "value": value} for name, value in values.items()]


def _assigned(*replicas: list[int], first: int = 0) -> list[dict[str, Any]]:
    return [{"partition_index": first + index, "broker_ids": each} for index, each in enumerate(replicas)]


@versions("create_topics")
def create_topics(peer: Peer, version: int) -> None:
    def ask(label: str, *topics: dict[str, Any], **values: Any) -> None:
        body = {"topics": list(topics), "timeout": 10_000, "validate_only": False, **values}
        peer.ask("create_topics", version, body, label=label)

    name = peer.name
    ask("none")
    ask("one", _new(name("one")))
    ask("again", _new(name("one")))
    ask("two, one of them again", _new(name("two")), _new(name("one")))
    ask("only validated", _new(name("validated")), validate_only=True)
    ask("validated, exists", _new(name("one")), validate_only=True)
    configs = _configs(retention_ms="1000", cleanup_policy="compact,delete")
    ask("three partitions with configs", _new(name("three"), num_partitions=3, configs=configs))
    loose = {"num_partitions": -1, "replication_factor": -1}
    ask("assignments", _new(name("assigned"), **loose, assignments=_assigned([1], [1])))
    ask("a timeout of 0", _new(name("no-time")), timeout=0)
    ask("a negative timeout", _new(name("negative-time")), timeout=-1)
    ask("defaults, from v4 on", _new(name("defaults"), **loose))
    ask("twice in one request", _new(name("twice")), _new(name("twice")))
    ask("twice among others", _new(name("twice")), _new(name("twice")), _new(name("beside")))
    _wrong_topics(ask, name)


def _wrong_topics(ask: Any, name: Any) -> None:
    for label, bad in BAD_NAMES.items():
        ask(label, _new(bad))
    ask("collides", _new(name("a.b")))
    ask("collides with the one before", _new(name("a_b")))
    ask("0 partitions", _new(name("wrong"), num_partitions=0))
    ask("-2 partitions", _new(name("wrong"), num_partitions=-2))
    ask("replication factor 0", _new(name("wrong"), replication_factor=0))
    ask("replication factor -2", _new(name("wrong"), replication_factor=-2))
    ask("replication factor 3", _new(name("wrong"), replication_factor=3))
    ask("assignments and a number", _new(name("wrong"), assignments=_assigned([1])))
    loose = {"num_partitions": -1, "replication_factor": -1}
    ask("assigned to an unknown broker", _new(name("wrong"), **loose, assignments=_assigned([7])))
    ask("assigned to one twice", _new(name("wrong"), **loose, assignments=_assigned([1, 1])))
    ask("assigned to none", _new(name("wrong"), **loose, assignments=_assigned([])))
    ask("assignments with a gap", _new(name("wrong"), **loose, assignments=_assigned([1], first=1)))
    ask("assignment of a negative partition", _new(name("wrong"), **loose, assignments=_assigned([1], first=-1)))
    ask("the same partition assigned twice",
        _new(name("wrong"), **loose, assignments=[*_assigned([1]), *_assigned([1])]))  # fmt: skip
    ask("an unknown config", _new(name("wrong"), configs=_configs(no_such_config="1")))
    ask("a config that is no number", _new(name("wrong"), configs=_configs(retention_ms="soon")))
    ask("a config out of range", _new(name("wrong"), configs=_configs(segment_bytes="1")))
    ask("a null config", _new(name("wrong"), configs=_configs(retention_ms=None)))
    ask("an empty config name", _new(name("wrong"), configs=[{"name": "", "value": "1"}]))
    twice = [*_configs(retention_ms="1000"), *_configs(retention_ms="2000")]
    ask("a config twice", _new(name("config-twice"), configs=twice))
    ask("an unknown policy", _new(name("wrong"), configs=_configs(cleanup_policy="shred")))
    ask("an empty policy", _new(name("empty-policy"), configs=_configs(cleanup_policy="")))
    ask("right and wrong", _new(name("right")), _new(name("wrong"), num_partitions=0))


@versions("delete_topics")
def delete_topics(peer: Peer, version: int) -> None:
    def ask(label: str, *names: str | None, ids: tuple[str, ...] = (), timeout: int = 10_000) -> None:
        rows: list[dict[str, Any]] = [{"name": name, "topic_id": None} for name in names]
        rows += [{"name": None, "topic_id": each} for each in ids]
        body = {"topic_names": list(names), "topics": rows, "timeout": timeout}
        peer.ask("delete_topics", version, body, label=label)

    one, two = peer.topic("one"), peer.topic("two")
    ask("none")
    ask("one", one)
    ask("unknown", peer.name("unknown"))
    ask("an empty name", "")
    ask("a bad name", "a/b")
    ask("one twice", two, two)
    ask("unknown and known", peer.name("unknown"), peer.topic("three"))
    ask("a timeout of 0", peer.topic("four"), timeout=0)
    if version >= 6:
        ask("by id", ids=(peer.topic_id(peer.topic("five")),))
        ask("an unknown id", ids=(NO_SUCH_ID,))
        ask("neither name nor id", None)
        six = peer.topic("six")
        row = {"name": six, "topic_id": peer.topic_id(six)}
        peer.ask("delete_topics", version, {"topics": [row], "timeout": 10_000}, label="name and id")
        seven = peer.topic("seven")
        ask("by name and by id", seven, ids=(peer.topic_id(seven),))
        ask("an id twice", ids=(peer.topic_id(six),) * 2)


@versions("create_partitions")
def create_partitions(peer: Peer, version: int) -> None:
    topic, other = peer.topic("grows"), peer.topic("other")

    def ask(label: str, *rows: tuple[str, int, list[list[int]] | None], **values: Any) -> None:
        topics = [
            {
                "name": name,
                "count": count,
                "assignments": None if given is None else [{"broker_ids": each} for each in given],
            }
            for name, count, given in rows
        ]
        body = {"topics": topics, "timeout": 10_000, "validate_only": False, **values}
        peer.ask("create_partitions", version, body, label=label)

    ask("none")
    ask("validated", (topic, 2, None), validate_only=True)
    ask("one more", (topic, 2, None))
    ask("as many as there are", (topic, 2, None))
    ask("fewer", (topic, 1, None))
    ask("0", (topic, 0, None))
    ask("-1", (topic, -1, None))
    ask("assigned", (topic, 3, [[1]]))
    ask("assigned too few", (topic, 5, [[1]]))
    ask("assigned too many", (topic, 4, [[1], [1]]))
    ask("assigned to an unknown broker", (topic, 4, [[9]]))
    ask("assigned to one twice", (topic, 4, [[1, 1]]))
    ask("assigned to nobody", (topic, 4, [[]]))
    ask("an empty list of assignments", (topic, 4, []))
    ask("unknown topic", (peer.name("unknown"), 2, None))
    ask("a bad name", ("a/b", 2, None))
    ask("an empty name", ("", 2, None))
    ask("one twice", (other, 2, None), (other, 3, None))
    ask("one right, one wrong", (other, 3, None), (peer.name("unknown"), 2, None))
    ask("a timeout of 0", (topic, 6, None), timeout=0)


@versions("describe_topic_partitions")
def describe_topic_partitions(peer: Peer, version: int) -> None:
    one, two = peer.topic("one", partitions=3), peer.topic("two", partitions=2)

    def ask(label: str, *names: str, limit: int = 2_000, cursor: tuple[str, int] | None = None) -> None:
        at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
        body = {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": at}
        peer.ask("describe_topic_partitions", version, body, label=label)

    ask("one", one)
    ask("two, not sorted", two, one)
    ask("one twice", one, one)
    ask("unknown", peer.name("unknown"))
    ask("known and unknown", peer.name("unknown"), one)
    ask("a bad name", "a/b")
    ask("an empty name", "")
    ask("an empty name beside another", one, "")
    ask("an empty name before the cursor", one, "", cursor=(one, 1))
    ask("a limit of one", one, limit=1)
    ask("a limit across topics", one, two, limit=4)
    ask("a limit at the end of a topic", one, two, limit=3)
    ask("a limit of 0", one, limit=0)
    ask("a negative limit", one, limit=-1)
    ask("a very large limit", one, limit=2_000_000_000)
    ask("from a cursor", one, two, cursor=(one, 2))
    ask("a cursor in the second", one, two, cursor=(two, 1))
    ask("a cursor past the partitions", one, two, cursor=(one, 9))
    ask("a negative cursor", one, cursor=(one, -1))
    ask("a cursor at an unknown topic", one, two, cursor=(peer.name("unknown"), 0))
    ask("a cursor with a limit", one, two, cursor=(one, 1), limit=3)
    ask("internal", "__consumer_offsets", limit=2)


@versions("metadata", name="metadata-creation")
def metadata_creation(peer: Peer, version: int) -> None:
    """A topic that a client asks for is made, and is still unknown in the answer."""

    def ask(label: str, *bases: str) -> dict[str, Any]:
        body = {"topics": [{"name": peer.name(base)} for base in bases], "allow_auto_topic_creation": True}
        return peer.ask("metadata", version, body, label=label)

    def found(answer: dict[str, Any]) -> bool:
        return all(row["error_code"] == 0 for row in answer["topics"])

    ask("a new one", "one")
    peer.until(lambda: ask("then", "one"), found)
    ask("two new ones and that", "two", "one", "three")
    peer.until(lambda: ask("then three", "two", "one", "three"), found)
    peer.await_topic(peer.name("two"))
    ask("a bad name beside", "a/b", "four")
    peer.until(lambda: ask("then four", "four"), found)
    peer.topic("col.lides")
    ask("one that collides", "col_lides")


@script("describe-topic-partitions-all", alone=True)
def describe_topic_partitions_all(peer: Peer) -> None:
    """No names are all topics; only what this script can foresee of them is kept."""
    peer.topic("one", partitions=2)
    answer = peer.quietly("describe_topic_partitions", 0, {"topics": [], "response_partition_limit": 2_000})
    mine = [row for row in answer["topics"] if row["name"].startswith(peer.name(""))]
    peer.note("all", {"topics": [[row["name"], row["error_code"], len(row["partitions"])] for row in mine]})
    peer.note("internal ones are there", any(row["is_internal"] for row in answer["topics"]))
