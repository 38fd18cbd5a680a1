"""The options of a write, checked: names and meanings are those of Spark's Kafka sink, plus delivery guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from penstock.model.compression import CODEC_NAMES
from penstock_spark.errors import BadOption
from penstock_spark.user_options import Broker, UserOptions, parse_broker

WRITE = (
    "compression", "delivery", "exactlyOnce", "includeHeaders", "inlineBytes", "kafka.acks", "kafka.bootstrap.servers",
    "kafka.client.id", "kafka.compression.type", "kafka.default.api.timeout.ms", "kafka.request.timeout.ms",
    "kafka.transaction.timeout.ms", "keyColumn", "topic", "valueFormat", "valueSchema",
)  # fmt: skip
"""The options of writing."""

INLINE_BYTES = 8 << 20


class Delivery(Enum):
    """The guarantee that holds when tasks, drivers and brokers die."""

    AT_LEAST_ONCE = "at-least-once"
    """Tasks produce as they go; a task that runs again writes again."""
    BY_BATCH = "batch"
    """Tasks encode, the driver writes everything in one transaction."""
    BY_TASK = "task"
    """Each task writes in a transaction of its own; the batch as a whole does not become visible at once."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    broker: Broker
    topic: str | None
    delivery: Delivery
    codec: int
    transaction_timeout_ms: int
    inline_bytes: int
    """The most bytes that a task sends to the driver; more goes through the staging topic."""
    include_headers: bool
    key_column: str | None
    value_format: str | None
    value_schema: str | None


def parse_write(options: Mapping[str, str], *, streaming: bool) -> WriteOptions:
    given = UserOptions(options, WRITE)
    if (given.text("kafka.acks") or "all") not in ("all", "-1"):
        raise BadOption("kafka.acks is all: nothing else keeps what was acknowledged")
    value_format = (given.text("valueFormat") or "").lower() or None
    if value_format not in (None, "json", "avro"):
        raise BadOption(f"valueFormat is json or avro, not {value_format!r}")
    for name in ("keyColumn", "valueSchema"):
        if given.text(name) is not None and value_format is None:
            raise BadOption(f"{name} is for typed columns: it needs valueFormat")
    return WriteOptions(
        broker=parse_broker(given),
        topic=given.text("topic"),
        delivery=_delivery(given, streaming),
        codec=_codec(given),
        transaction_timeout_ms=given.count("kafka.transaction.timeout.ms") or 60_000,
        inline_bytes=given.count("inlineBytes") or INLINE_BYTES,
        include_headers=given.flag("includeHeaders", default=True),
        key_column=given.text("keyColumn"),
        value_format=value_format,
        value_schema=given.text("valueSchema"),
    )


def _delivery(given: UserOptions, streaming: bool) -> Delivery:
    promise = (given.text("delivery") or ("exactly-once" if streaming else "at-least-once")).lower()
    how = given.text("exactlyOnce")
    if promise not in ("exactly-once", "at-least-once"):
        raise BadOption(f"delivery is exactly-once or at-least-once, not {promise!r}")
    if how is not None and (how.lower() not in ("batch", "task") or promise != "exactly-once"):
        raise BadOption(f"exactlyOnce is batch or task, for delivery=exactly-once; it is {how!r} with {promise}")
    if promise == "at-least-once":
        return Delivery.AT_LEAST_ONCE
    if how is not None and how.lower() == "task":
        if not streaming:
            raise BadOption("exactlyOnce=task is for streaming queries: a batch write has no number to know it by")
        return Delivery.BY_TASK
    return Delivery.BY_BATCH


def _codec(given: UserOptions) -> int:
    said = given.text("compression"), given.text("kafka.compression.type")
    if all(said) and said[0] != said[1]:
        raise BadOption("compression and kafka.compression.type say different things")
    name = (said[0] or said[1] or "none").lower()
    if name not in CODEC_NAMES:
        raise BadOption(f"compression is one of {', '.join(CODEC_NAMES)}, not {name!r}")
    return CODEC_NAMES.index(name)
