"""Groups and their offsets as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from penstock.node.rest.bodies import Answer, NextCursor, Question
from penstock.node.rest.parameters import INDEX_MAX, OFFSET_MAX, Moment

TOPICS_MAX = 1_000
PARTITIONS_MAX = 100_000


class GroupBody(Answer):
    group: str = Field(examples=["billing"])
    kind: str = Field(
        description="consumer: of Kafka consumers; push: a push subscription; else the protocol of its members.",
        examples=["consumer"],
    )
    state: str = Field(
        description="Empty, Stable, PreparingRebalance, CompletingRebalance or Dead.", examples=["Stable"]
    )
    members: int = Field(examples=[2])
    lag: int = Field(description="Messages after the committed offsets, over all partitions.", examples=[17])


class GroupsBody(Answer):
    groups: list[GroupBody]
    next_cursor: NextCursor


class MemberBody(Answer):
    member_id: str = Field(examples=["rdkafka-4f1c2d"])
    client_id: str = Field(examples=["rdkafka"])
    host: str = Field(examples=["10.0.0.9"])
    instance_id: str | None = Field(description="Of a static member.", examples=[None])
    assignment: dict[str, list[int]] | None = Field(
        description="Its partitions by topic; null if that cannot be known.", examples=[{"orders": [0, 1]}]
    )


class SubscriptionBody(Answer):
    """Properties of a push subscription beyond those of a group."""

    topic: str = Field(examples=["orders"])
    delivery: Literal["key", "message"] = Field(examples=["message"])
    unacknowledged: int = Field(examples=[0])
    refresh: int | None = Field(description="Id of the refresh that is under way.", examples=[None])


class GroupDetailsBody(GroupBody):
    generation: int = Field(examples=[3])
    protocol: str | None = Field(description="How partitions are assigned.", examples=["range"])
    subscription: SubscriptionBody | None = Field(description="Of a push subscription.", examples=[None])
    member_list: list[MemberBody]


class CommittedBody(Answer):
    topic: str = Field(examples=["orders"])
    partition: int = Field(examples=[0])
    committed: int = Field(description="The next offset that the group will read.", examples=[25])
    metadata: str = Field(examples=[""])
    commit_time: int = Field(description="Milliseconds since 1970.", examples=[1772355600000])
    log_start: int | None = Field(description="Null if the partition is gone or cannot be opened.", examples=[0])
    high_watermark: int | None = Field(examples=[42])
    lag: int | None = Field(examples=[17])
    pending: bool = Field(description="An open transaction may still change it.", examples=[False])


class OffsetsBody(Answer):
    group: str = Field(examples=["billing"])
    offsets: list[CommittedBody]
    next_cursor: NextCursor


class ResetTopicBody(Question):
    topic: str = Field(min_length=1, max_length=249, examples=["orders"])
    partitions: (
        Annotated[
            list[Annotated[int, Field(ge=0, le=INDEX_MAX)]],
            Field(min_length=1, max_length=PARTITIONS_MAX, fail_fast=True),
        ]
        | None
    ) = Field(default=None, description="Without them: all.", examples=[[0, 1]])


class ResetBody(Question):
    """The new position of a group, which must have no members."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"to": "earliest", "dry_run": True},
                {"to": "offset", "offset": 25, "topics": [{"topic": "orders", "partitions": [0]}]},
                {"to": "time", "time": "2026-03-01T09:00:00Z"},
            ]
        }
    )

    to: Literal["earliest", "latest", "offset", "time"]
    offset: Annotated[int, Field(ge=0, le=OFFSET_MAX)] | None = Field(default=None, description="With to: offset.")
    time: Moment | None = Field(default=None, description="With to: time. The first message of that time or later.")
    topics: Annotated[list[ResetTopicBody], Field(min_length=1, max_length=TOPICS_MAX, fail_fast=True)] | None = Field(
        default=None, description="Without them: everything that the group has offsets for."
    )
    dry_run: bool = Field(default=False, description="Only show the new offsets.")

    @model_validator(mode="after")
    def _agree(self) -> ResetBody:
        for name, value in (("offset", self.offset), ("time", self.time)):
            if self.to == name and value is None:
                raise ValueError(f"to: {name} needs {name}")
            if self.to != name and value is not None:
                raise ValueError(f"{name} goes with to: {name}, not with to: {self.to}; leave one of them out")
        return self


class MovedBody(Answer):
    topic: str = Field(examples=["orders"])
    partition: int = Field(examples=[0])
    before: int | None = Field(description="The committed offset; null if none was.", examples=[25])
    after: int = Field(examples=[0])
    remark: str | None = Field(description="Reason why it is not the requested one.", examples=[None])


class ResetAnswer(Answer):
    group: str = Field(examples=["billing"])
    dry_run: bool = Field(examples=[False])
    offsets: list[MovedBody]
