"""The topic that a job writes to or reads from: made if it is missing, and known by its id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from penstock.bulk.errors import Missing, Unfit
from penstock.client.answer_error import check
from penstock.client.cluster import METADATA_VERSION, Cluster
from penstock.client.topics import ensure_topic
from penstock.model.counted import counted
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.apis import DESCRIBE_CONFIGS, METADATA

if TYPE_CHECKING:
    from penstock.protocol.kafka.requests.describe_configs import DescribeConfigsResourceValues

DESCRIBE_CONFIGS_VERSION = 4
TOPIC_RESOURCE = 2
DAY_MS = 86_400_000
BROKERS_OWN = -1  # its default for partitions and replicas


class KnownTopic(NamedTuple):
    """A topic that exists. The ids tell it from a later one of the same name, or one on another cluster."""

    name: str
    partition_count: int
    topic_id: str
    cluster_id: str


def find_topic(cluster: Cluster, name: str) -> KnownTopic | None:
    def ask() -> KnownTopic | None:
        answer = cluster.any_connection().call(
            METADATA, METADATA_VERSION, topics=[{"name": name}], allow_auto_topic_creation=False
        )
        (topic,) = answer.topics
        if ErrorCode(topic.error_code) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        check(topic.error_code, f"topic {name}")
        return KnownTopic(name, len(topic.partitions), str(topic.topic_id), answer.cluster_id or "")

    return cluster.patiently(ask)


def require_topic(cluster: Cluster, name: str) -> KnownTopic:
    found = find_topic(cluster, name)
    if found is None:
        raise Missing(f"topic {name} does not exist", "`penstock topic list` shows all topics")
    return found


def find_or_create_topic(
    cluster: Cluster,
    name: str,
    partitions: int | None,
    configs: Mapping[str, str] | None = None,
    *,
    default_partitions: int = BROKERS_OWN,
) -> tuple[KnownTopic, bool]:
    """Return the topic, and whether it was created now. Unfit if it exists with another number of partitions."""
    found = find_topic(cluster, name)
    if found is None:
        ensure_topic(cluster, name, partitions=partitions or default_partitions, configs=configs)
        return require_topic(cluster, name), True
    if partitions is not None and found.partition_count != partitions:
        raise Unfit(
            f"topic {name} has {counted(found.partition_count, 'partition')}, not {partitions}",
            "leave out --partitions to write to it as it is",
        )
    return found, False


KEEP_ALL = {
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.after.max.ms": str((1 << 63) - 1),
}
"""Configs of a new topic for records with times of their own, which may be old, or wrong."""


def time_remarks(cluster: Cluster, topic: KnownTopic) -> list[str]:
    """Remarks on settings of a topic that would replace the records' own times, or remove records because of them."""
    remarks = []
    if topic_config(cluster, topic.name, "message.timestamp.type") == "LogAppendTime":
        remarks.append(f"topic {topic.name} gives records the time of arrival: message.timestamp.type is LogAppendTime")
    retention_ms = int(topic_config(cluster, topic.name, "retention.ms") or -1)
    if retention_ms >= 0:
        hint = f"`penstock topic alter {topic.name} --config retention.ms=-1` keeps older ones"
        remarks.append(f"topic {topic.name} removes records that are older than {retention_ms / DAY_MS:g} d; {hint}")
    return remarks


def topic_config(cluster: Cluster, topic: str, name: str) -> str | None:
    def ask() -> str | None:
        wanted: DescribeConfigsResourceValues = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": topic,
            "configuration_keys": [name],
        }
        answer = cluster.any_connection().call(DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, resources=[wanted])
        (result,) = answer.results
        check(result.error_code, f"topic {topic}")
        return next((each.value for each in result.configs if each.name == name), None)

    return cluster.patiently(ask)
