"""Topics for a client's own records, and topics that it writes to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster, TopicInfo
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.apis import CREATE_TOPICS

if TYPE_CHECKING:
    from penstock.protocol.kafka.requests.create_topics import CreatableTopicValues

CREATE_TOPICS_VERSION = 7
TIMEOUT_MS = 30_000
MAKING_SECONDS = 3.0
MAKING_PAUSE_SECONDS = 0.05


def ensure_topic(
    cluster: Cluster, name: str, *, partitions: int = -1, configs: Mapping[str, str] | None = None
) -> None:
    """Create a topic unless it exists. With -1 partitions it gets the broker's default number."""
    if name in cluster.patiently(lambda: cluster.topics([name])):
        return
    wanted: CreatableTopicValues = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": -1,
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }

    def create() -> None:
        answer = cluster.any_connection().call(
            CREATE_TOPICS, CREATE_TOPICS_VERSION, topics=[wanted], timeout=TIMEOUT_MS, validate_only=False
        )
        (made,) = answer.topics
        if ErrorCode(made.error_code) is not ErrorCode.TOPIC_ALREADY_EXISTS:
            check(made.error_code, f"topic {name} cannot be made: {made.error_message}")

    def known() -> None:
        if name not in cluster.topics([name]):  # a broker may learn of a topic later than the client that created it
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {name} is being made")

    cluster.patiently(create)
    cluster.patiently(known)


def topics_to_write(cluster: Cluster, names: Iterable[str]) -> dict[str, TopicInfo]:
    """Topics that must exist, or that the broker creates on demand.

    Kafka starts to create them at the first request, and answers that they are unknown until they exist.
    """
    wanted = list(names)
    deadline = time.monotonic() + MAKING_SECONDS
    while True:
        found = cluster.patiently(lambda: cluster.topics(wanted, create=True))
        missing = [name for name in wanted if name not in found]
        if not missing:
            return found
        if time.monotonic() > deadline:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {missing[0]}; create it first")
        time.sleep(MAKING_PAUSE_SECONDS)
