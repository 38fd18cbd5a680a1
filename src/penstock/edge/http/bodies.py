"""JSON bodies of the application's HTTP API, with examples for its OpenAPI page."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from penstock.edge.http.message_json import Encoding

EXAMPLE_MESSAGE: dict[str, Any] = {
    "offset": 4,
    "partition": 0,
    "source_offset": 4,
    "timestamp": 1772461800000,
    "time": "2026-03-02T14:30:00.000Z",
    "key": "AAPL",
    "key_encoding": "text",
    "body": {"symbol": "AAPL", "price": 227.5},
    "body_encoding": "json",
    "properties": [{"name": "exchange", "value": "NASDAQ", "encoding": "text"}],
}
EXAMPLE_CURSOR = "WzEsIjU4YyIsNV0"


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True)


class PropertyBody(_Body):
    name: str
    value: str | None
    encoding: Encoding


class MessageBody(_Body):
    """`offset` is its place here, `partition` and `source_offset` its place at the broker."""

    model_config = ConfigDict(frozen=True, json_schema_extra={"examples": [EXAMPLE_MESSAGE]})

    offset: int
    partition: int
    source_offset: int
    timestamp: int
    time: str | None
    key: str | None
    key_encoding: Encoding
    body: Any
    body_encoding: Encoding
    properties: list[PropertyBody]


class MessagesBody(_Body):
    """A page. Request the next one with `cursor`, now if there is `more`, otherwise when messages have arrived."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={"examples": [{"messages": [EXAMPLE_MESSAGE], "cursor": EXAMPLE_CURSOR, "more": False}]},
    )

    messages: list[MessageBody]
    cursor: str
    more: bool


class SegmentBody(_Body):
    base_offset: int = Field(examples=[0])
    end_offset: int = Field(examples=[5])
    size_bytes: int = Field(examples=[912])
    first_time: str | None = Field(examples=["2026-03-02T14:30:00.000Z"])
    last_time: str | None = Field(examples=["2026-03-02T14:30:04.000Z"])
    active: bool
    file: str = Field(examples=["00000000000000000000.log"])


class SegmentsBody(_Body):
    generation: int
    segments: list[SegmentBody]


class RefreshBody(_Body):
    """A refresh under way: how far the new data is from the ends that the broker named."""

    id: int
    generation: int
    messages: int
    positions: dict[int, int]
    ends: dict[int, int]


class StatsBody(_Body):
    type: str = Field(examples=["price"])
    topic: str = Field(examples=["price-topic"])
    group: str = Field(examples=["price-group"])
    generation: int
    messages: int = Field(examples=[5])
    log_start: int = Field(examples=[0])
    log_end: int = Field(examples=[5])
    positions: dict[int, int] = Field(
        description="The next source offset of each partition of the source.", examples=[{"0": 5}]
    )
    size_bytes: int
    segments: int
    indexed: int
    index_bytes: int
    received: int = Field(description="Messages that came since the start, those that came again included.")
    stored: int
    duplicates: int
    last_message: str | None = Field(description="When the last message came.")
    refreshes: int
    refresh: RefreshBody | None
    handler: dict[str, Any] = Field(
        description="Figures of the handler module; with `price`, the last price of each symbol."
    )


class HealthBody(_Body):
    """Live: it answers. Ready: it can be asked; `problems` says why not. The broker may be away all the same."""

    status: str = Field(examples=["ready"])
    live: bool
    ready: bool
    connected: bool
    broker: str = Field(examples=["localhost:9999"])
    feed: str = Field(description="State of the connection to the broker.", examples=["subscribed"])
    last_message: str | None
    problems: list[str]


class StatusBody(_Body):
    """The health for those who may not describe the cluster."""

    status: str = Field(examples=["ready"])


class RefreshAskedBody(_Body):
    status: str = Field(examples=["asked"])
    detail: str
