"""About the cluster: versions, features, log directories, replicas and the quorum of one node."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.requests.fetch import fill
from tests.differential.script import versions


@versions("api_versions")
def api_versions(peer: Peer, version: int) -> None:
    def ask(label: str, name: str, software: str = "1.0") -> None:
        body = {"client_software_name": name, "client_software_version": software}
        peer.ask("api_versions", version, body, label=label)

    ask("a right name", "differential")
    ask("signs in the middle", "a-b.c", "1.0-SNAPSHOT+x" if version < 3 else "1.0-SNAPSHOT")
    if version < 3:
        return
    for label, bad in {"empty": "", "a sign in front": "-a", "a blank": "a b", "a slash": "a/b", "umlaut": "ä"}.items():
        ask(f"{label}, as the name", bad)
        ask(f"{label}, as the version", "a", bad)
    ask("a very long name", "a" * 10_000)


@versions("describe_cluster")
def describe_cluster(peer: Peer, version: int) -> None:
    def ask(label: str, **body: Any) -> None:
        peer.ask("describe_cluster", version, body, label=label)

    ask("brokers")
    ask("authorized operations", include_cluster_authorized_operations=True)
    if version >= 1:
        ask("controllers", endpoint_type=2)
        ask("endpoints of type 0", endpoint_type=0)
        ask("endpoints of type 9", endpoint_type=9)
    if version >= 2:
        ask("fenced ones, too", include_fenced_brokers=True)


@versions("update_features")
def update_features(peer: Peer, version: int) -> None:
    def ask(label: str, *updates: tuple[str, int], kind: int = 1, **changes: Any) -> None:
        rows = [
            {"feature": name, "max_version_level": level, "upgrade_type": kind, "allow_downgrade": kind > 1}
            for name, level in updates
        ]
        body = {"timeout": 10_000, "feature_updates": rows, "validate_only": False, **changes}
        peer.ask("update_features", version, body, label=label)

    ask("none")
    ask("the level in force", ("metadata.version", 30))
    ask("an unknown feature", ("no.such.feature", 1))
    ask("a level that is too high", ("metadata.version", 1_000))
    ask("a level that is too low", ("metadata.version", 1), kind=2)
    ask("a negative level", ("metadata.version", -1))
    ask("level 0", ("metadata.version", 0), kind=2)
    ask("the empty name", ("", 1))
    ask("the same twice", ("no.such.feature", 1), ("no.such.feature", 2))
    ask("lower without leave", ("metadata.version", 29))
    ask("a right one and a wrong one", ("metadata.version", 30), ("no.such.feature", 1))
    if version >= 1:
        ask("an unknown kind of change", ("metadata.version", 30), kind=9)
        ask("kind 0", ("metadata.version", 30), kind=0)
        ask("only validated", ("metadata.version", 30), validate_only=True)


def _partitions(name: str, *partitions: int) -> dict[str, Any]:
    rows = [{"partition_index": each} for each in partitions]
    return {"topic": name, "name": name, "topic_name": name, "partitions": list(partitions), "rows": rows}


@versions("elect_leaders")
def elect_leaders(peer: Peer, version: int) -> None:
    topic = peer.topic("topic", partitions=2)

    def ask(label: str, *topics: tuple[str, list[int]], kind: int = 0) -> None:
        rows = [_partitions(name, *partitions) for name, partitions in topics]
        body = {"election_type": kind, "topic_partitions": rows, "timeout": 10_000}
        peer.ask("elect_leaders", version, body, label=label)

    ask("no topics")
    ask("no partitions", (topic, []))
    ask("preferred", (topic, [0, 1]))
    ask("unknown partition", (topic, [7]))
    ask("partition -1", (topic, [-1]))
    ask("unknown topic", (peer.name("unknown"), [0]))
    ask("a bad name", ("a/b", [0]))
    ask("a partition twice", (topic, [0, 0]))
    ask("known and unknown", (topic, [0]), (peer.name("unknown"), [0]))
    if version >= 1:
        ask("unclean", (topic, [0]), kind=1)
        ask("an election of kind 5", (topic, [0]), kind=5)
    answer = peer.quietly("elect_leaders", version, {"topic_partitions": None, "timeout": 10_000})
    peer.note("all topics", answer.get("error_code"))


@versions("alter_partition_reassignments")
def alter_partition_reassignments(peer: Peer, version: int) -> None:
    topic = peer.topic("topic", partitions=2)

    def ask(label: str, *topics: tuple[str, list[tuple[int, list[int] | None]]], **changes: Any) -> None:
        rows = [
            {"name": name, "partitions": [{"partition_index": index, "replicas": on} for index, on in wanted]}
            for name, wanted in topics
        ]
        peer.ask("alter_partition_reassignments", version, {"timeout": 10_000, "topics": rows, **changes}, label=label)

    ask("no topics")
    ask("no partitions", (topic, []))
    ask("where it is", (topic, [(0, [1])]))
    ask("cancel what is not", (topic, [(0, None)]))
    ask("to nobody", (topic, [(0, [])]))
    ask("to an unknown broker", (topic, [(0, [9])]))
    ask("to two", (topic, [(0, [1, 9])]))
    ask("to one twice", (topic, [(0, [1, 1])]))
    ask("to broker -1", (topic, [(0, [-1])]))
    ask("two partitions", (topic, [(1, [1]), (0, [1])]))
    ask("unknown partition", (topic, [(7, [1])]))
    ask("partition -1", (topic, [(-1, [1])]))
    ask("unknown topic", (peer.name("unknown"), [(0, [1])]))
    ask("cancel an unknown topic", (peer.name("unknown"), [(0, None)]))
    ask("a bad name", ("a/b", [(0, [1])]))
    if version >= 1:
        ask("the factor must stay, and does", (topic, [(0, [1])]), allow_replication_factor_change=False)
        ask("the factor must stay, and would not", (topic, [(0, [1, 9])]), allow_replication_factor_change=False)


@versions("list_partition_reassignments")
def list_partition_reassignments(peer: Peer, version: int) -> None:
    topic = peer.topic("topic", partitions=2)

    def ask(label: str, topics: list[dict[str, Any]] | None) -> None:
        peer.ask("list_partition_reassignments", version, {"timeout": 10_000, "topics": topics}, label=label)

    ask("all", None)
    ask("no topics", [])
    ask("of a topic", [{"name": topic, "partition_indexes": [0, 1]}])
    ask("of no partitions", [{"name": topic, "partition_indexes": []}])
    ask("unknown partition", [{"name": topic, "partition_indexes": [7, -1]}])
    ask("unknown topic", [{"name": peer.name("unknown"), "partition_indexes": [0]}])
    ask("a bad name", [{"name": "a/b", "partition_indexes": [0]}])


@versions("describe_log_dirs")
def describe_log_dirs(peer: Peer, version: int) -> None:
    topic, empty = peer.topic("topic", partitions=2), peer.topic("empty")
    fill(peer, topic, "one", "two")

    def ask(label: str, topics: list[tuple[str, list[int]]] | None) -> None:
        rows = None if topics is None else [{"topic": name, "partitions": wanted} for name, wanted in topics]
        peer.ask("describe_log_dirs", version, {"topics": rows}, label=label)

    ask("no topics", [])
    ask("of a topic", [(topic, [0, 1])])
    ask("of one partition", [(topic, [1])])
    ask("of no partitions", [(topic, [])])
    ask("of two topics", [(topic, [0]), (empty, [0])])
    ask("unknown partition", [(topic, [0, 7])])
    ask("unknown topic", [(peer.name("unknown"), [0])])
    ask("a topic twice", [(topic, [0]), (topic, [1])])
    answer = peer.quietly("describe_log_dirs", version, {"topics": None})
    mine = [row for row in answer["results"][0]["topics"] if row["name"].startswith(peer.name(""))]
    peer.note("all", {"directories": len(answer["results"]), "mine": sorted(row["name"] for row in mine)})


@versions("alter_replica_log_dirs")
def alter_replica_log_dirs(peer: Peer, version: int) -> None:
    topic = peer.topic("topic", partitions=2)
    here = peer.quietly("describe_log_dirs", 4, {"topics": []})["results"][0]["log_dir"]

    def ask(label: str, *rows: tuple[str, str, list[int]]) -> None:
        dirs = [{"path": path, "topics": [{"name": name, "partitions": wanted}]} for path, name, wanted in rows]
        peer.ask("alter_replica_log_dirs", version, {"dirs": dirs}, label=label)

    ask("nothing")
    ask("where they are", (here, topic, [0, 1]))
    ask("no partitions", (here, topic, []))
    ask("to a directory that is not there", ("/no/such/directory", topic, [0]))
    ask("to a path that is not absolute", ("here", topic, [0]))
    ask("to nowhere", ("", topic, [0]))
    ask("unknown partition", (here, topic, [7]))
    ask("partition -1", (here, topic, [-1]))
    ask("unknown topic", (here, peer.name("unknown"), [0]))
    ask("a bad name", (here, "a/b", [0]))
    ask("a partition twice", (here, topic, [0, 0]))
    ask("known and unknown", (here, topic, [0]), ("/no/such/directory", topic, [1]))


@versions("describe_quorum")
def describe_quorum(peer: Peer, version: int) -> None:
    def ask(label: str, *topics: tuple[str, list[int]]) -> None:
        wanted = [
            {"topic_name": name, "partitions": [{"partition_index": each} for each in indexes]}
            for name, indexes in topics
        ]
        peer.ask("describe_quorum", version, {"topics": wanted}, label=label)

    ask("of the metadata", ("__cluster_metadata", [0]))
    ask("no topics")
    ask("no partitions", ("__cluster_metadata", []))
    ask("another partition", ("__cluster_metadata", [1]))
    ask("two partitions", ("__cluster_metadata", [0, 1]))
    ask("a partition twice", ("__cluster_metadata", [0, 0]))
    ask("another topic", (peer.topic("topic"), [0]))
    ask("unknown topic", (peer.name("unknown"), [0]))
    ask("two topics", ("__cluster_metadata", [0]), (peer.name("unknown"), [0]))
