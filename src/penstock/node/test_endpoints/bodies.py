"""JSON bodies of the test endpoints, with bounds on everything."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from penstock.broker.operations.topic_writer import TopicWriter

MESSAGES_MAX = 10_000
TOPIC = Field(min_length=1, max_length=249, examples=["price-topic"])
PARTITION = Field(ge=0, description="Without one: the key's partition, or in turn.")


class _Question(BaseModel):
    """A request; unknown names are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InjectedMessage(_Question):
    key: str | None = Field(default=None, examples=["AAPL"])
    body: Any = Field(
        default=None,
        description="A text as it is, anything else as JSON; null is a tombstone.",
        examples=[{"symbol": "AAPL", "price": 227.5}],
    )
    body_base64: str | None = Field(default=None, description="Instead of body, for bytes that are not text.")
    properties: dict[str, str] = Field(default_factory=dict, max_length=100, examples=[{"exchange": "NASDAQ"}])
    partition: Annotated[int | None, PARTITION] = None
    timestamp: int | None = Field(default=None, ge=0, description="In milliseconds; without one, now.")

    @model_validator(mode="after")
    def _one_body(self) -> InjectedMessage:
        if self.body is not None and self.body_base64 is not None:
            raise ValueError("give body or body_base64, not both")
        try:
            base64.b64decode(self.body_base64 or "", validate=True)
        except binascii.Error:
            raise ValueError("body_base64 is not base64") from None
        return self

    @property
    def content(self) -> bytes | None:
        if self.body_base64 is not None:
            return base64.b64decode(self.body_base64)
        if self.body is None:
            return None
        text = self.body if isinstance(self.body, str) else json.dumps(self.body, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")


class InjectBody(_Question):
    topic: Annotated[str, TOPIC]
    messages: list[InjectedMessage] = Field(min_length=1, max_length=MESSAGES_MAX)


class LoadBody(_Question):
    """Rows of a table, in the order of their rowid or primary key."""

    file: str = Field(min_length=1, max_length=4096, description="Below test_data_dir.", examples=["prices.db"])
    table: str = Field(min_length=1, max_length=1024, examples=["prices"])
    topic: Annotated[str, TOPIC]
    key_column: str | None = Field(default=None, examples=["symbol"])
    value_column: str | None = Field(
        default=None, description="This column alone is the body; without one, the row as a JSON object."
    )
    timestamp_column: str | None = Field(
        default=None, description="Milliseconds since 1970, or ISO 8601; without one, now."
    )
    partition: Annotated[int | None, PARTITION] = None


class WrittenBody(BaseModel):
    """When this is answered, everything is on disk."""

    topic: str = Field(examples=["price-topic"])
    messages: int = Field(examples=[5])
    offsets: dict[int, tuple[int, int]] = Field(
        description="First and last offset, by partition.", examples=[{"0": [0, 4]}]
    )


def written_body(topic: str, writer: TopicWriter) -> WrittenBody:
    return WrittenBody(topic=topic, messages=writer.written, offsets=dict(sorted(writer.offsets.items())))


class PartitionStats(BaseModel):
    partition: int
    log_start: int
    log_end: int = Field(description="The offset of the next message.")
    messages: int
    segments: int
    size_bytes: int


class ConsumerStats(BaseModel):
    group: str
    state: str
    members: int
    offsets: dict[int, int] = Field(description="Committed offsets, by partition.")
    lag: int


class TopicStats(BaseModel):
    topic: str
    messages: int
    segments: int
    size_bytes: int
    partitions: list[PartitionStats]
    consumers: list[ConsumerStats]


class StatsBody(BaseModel):
    topics: list[TopicStats]
    messages: int
