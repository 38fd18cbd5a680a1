"""Topics and partitions as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic
from penstock.model.errors import KafkaError
from penstock.node.rest.bodies import Answer, Configs, NextCursor, Question
from penstock.node.rest.parameters import INDEX_MAX
from penstock.storage.interface import LogState

Count = Annotated[int, Field(ge=1, le=INDEX_MAX, examples=[3])]


class NewTopicBody(Question):
    """A new topic; omitted values have the node's defaults."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "orders", "partitions": 3, "configs": {"retention.ms": "86400000"}}],
        }
    )

    # The controller checks names; the page shows the rule.
    name: str = Field(
        max_length=1_000,
        description="1 to 249 letters, digits, dots, dashes, underscores.",
        json_schema_extra={"pattern": "^[a-zA-Z0-9._-]{1,249}$"},
    )
    partitions: Count | None = None
    replication_factor: Annotated[int, Field(ge=1, le=32_767)] | None = Field(
        default=None, description="Above 1 it is taken and lowered, unless the node is strict about it."
    )
    configs: Configs = Field(default_factory=dict)
    validate_only: bool = Field(default=False, description="Only check whether it could be created.")


class MorePartitionsBody(Question):
    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 6}]})

    count: Count = Field(description="The new total number.")
    validate_only: bool = Field(default=False, description="Only check whether they could be created.")


class TopicBody(Answer):
    name: str = Field(examples=["orders"])
    topic_id: str = Field(examples=["b8a5e9e4-5a9b-4b5e-9d3c-0f3f6a1c2d4e"])
    partitions: int = Field(examples=[3])
    replication_factor: int = Field(examples=[1])
    internal: bool = Field(description="The broker's own.", examples=[False])
    mirror: bool = Field(description="A copy of the parent's topic, which cannot be changed here.", examples=[False])

    @classmethod
    def of(cls, topic: Topic) -> TopicBody:
        return cls(**_fields(topic))


def _fields(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": str(topic.topic_id),
        "partitions": topic.partition_count,
        "replication_factor": 1,
        "internal": topic.internal,
        "mirror": topic.mirror,
    }


class TopicDetailsBody(TopicBody):
    diverged: str | None = Field(description="Reason why a mirror has stopped following its parent.", examples=[None])
    configs: dict[str, str] | None = Field(
        description="Configs set for this topic; GET …/configs shows all. Null without the right to see them.",
        examples=[{"retention.ms": "86400000"}],
    )
    offline_partitions: list[int] = Field(description="Those whose log has failed.", examples=[[]])
    subscriptions: list[str] = Field(
        description="Push subscriptions to it that the caller may describe.", examples=[["billing"]]
    )

    @classmethod
    def described(
        cls, topic: Topic, *, offline: frozenset[int], subscriptions: list[str], shows_configs: bool
    ) -> TopicDetailsBody:
        return cls(
            **_fields(topic),
            diverged=topic.diverged or None,
            configs=dict(topic.configs) if shows_configs else None,
            offline_partitions=sorted(offline),
            subscriptions=subscriptions,
        )


class TopicsBody(Answer):
    topics: list[TopicBody]
    next_cursor: NextCursor


class PartitionBody(Answer):
    """Offsets and sizes are null while the log cannot be opened."""

    partition: int = Field(examples=[0])
    state: Literal["online", "damaged", "offline"] = Field(
        description="damaged: readable up to the damage, takes no writes.", examples=["online"]
    )
    leader: int | None = Field(description="Broker; null while the log is offline.", examples=[1])
    leader_epoch: int = Field(examples=[0])
    replicas: list[int] = Field(examples=[[1]])
    isr: list[int] = Field(description="Replicas that are in sync.", examples=[[1]])
    log_start: int | None = Field(description="The first offset that can be read.", examples=[0])
    high_watermark: int | None = Field(description="The offset after the last one that is on disk.", examples=[42])
    last_stable: int | None = Field(
        description="The last stable offset: readers of committed messages stop here.", examples=[42]
    )
    size_bytes: int | None = Field(examples=[4096])
    segments: int | None = Field(examples=[1])

    @classmethod
    def of(cls, node: int, partitions: PartitionTable, topic: Topic, index: int) -> PartitionBody:
        """The partition as it is now; its log is opened if need be."""
        try:
            found = partitions.get(topic.name, index)
        except KafkaError:
            found = None
        online = found is not None and found.state is not LogState.OFFLINE
        return cls(
            partition=index,
            state="offline" if found is None else found.state.value,
            leader=node if online else None,
            leader_epoch=topic.leader_epochs[index],
            replicas=[node],
            isr=[node] if online else [],
            log_start=None if found is None else found.log_start,
            high_watermark=None if found is None else found.high_watermark,
            last_stable=None if found is None else found.last_stable,
            size_bytes=None if found is None else found.size_bytes,
            segments=None if found is None else found.segment_count,
        )


class PartitionsBody(Answer):
    topic: str = Field(examples=["orders"])
    partitions: list[PartitionBody]
    next_cursor: NextCursor
