"""The options of a write, checked: names and meanings are those of Spark's Kafka sink, plus delivery guarantees."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from penstock.model.compression import CODEC_NAMES
from penstock_spark.errors import BadOption
from penstock_spark.options.option import Use
from penstock_spark.user_options import Broker, UserOptions, parse_broker
from penstock_spark.writing.batch_limits import USUAL, BatchLimits
from penstock_spark.writing.stage_files import StageDirectory

logger = logging.getLogger(__name__)

_told: set[int] = set()

INLINE_BYTES = 8 << 20
ROWS_BYTES_MAX = 1 << 20


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
    limits: BatchLimits
    ignores_keys: bool
    """Whether keys do not decide about partitions."""
    transaction_timeout_ms: int
    inline_bytes: int
    """The most bytes that a task sends to the driver; more goes through a file, or the staging topic."""
    include_headers: bool
    key_column: str | None
    value_format: str | None
    value_schema: str | None
    notices: tuple[str, ...]
    """Warnings about the options."""
    identity: int
    directory: StageDirectory | None = None
    """For files of tasks that see it."""

    @property
    def rows_bytes_max(self) -> int:
        """How many bytes of rows a task may leave to the driver as they are; none if each task writes by itself."""
        return 0 if self.delivery is Delivery.BY_TASK else min(ROWS_BYTES_MAX, self.inline_bytes)


def parse_write(options: Mapping[str, str], *, streaming: bool) -> WriteOptions:
    given = UserOptions(options)
    notices = tuple(filter(None, (given.allow(Use.WRITE), _notice_of_acks(given))))
    value_format = (given.text("valueFormat") or "").lower() or None
    if value_format not in (None, "json", "avro"):
        raise BadOption(f"valueFormat is json or avro, not {value_format!r}")
    for name in ("keyColumn", "valueSchema"):
        if given.text(name) is not None and value_format is None:
            raise BadOption(f"{name} is for typed columns: it needs valueFormat")
    return WriteOptions(
        broker=_broker(given),
        topic=given.text("topic"),
        delivery=_delivery(given, streaming),
        codec=_codec(given),
        limits=_limits(given),
        ignores_keys=given.flag("kafka.partitioner.ignore.keys", default=False),
        transaction_timeout_ms=given.count("kafka.transaction.timeout.ms") or 60_000,
        inline_bytes=given.count("inlineBytes") or INLINE_BYTES,
        include_headers=given.flag("includeHeaders", default=True),
        key_column=given.text("keyColumn"),
        value_format=value_format,
        value_schema=given.text("valueSchema"),
        notices=notices,
        identity=given.identity,
    )


def tell(options: WriteOptions) -> None:
    """Say the warnings about the options of a query, once in this process."""
    if options.identity not in _told:
        for notice in options.notices:
            logger.warning(notice)
    _told.add(options.identity)


def _notice_of_acks(given: UserOptions) -> str:
    acks = (given.text("kafka.acks") or "all").lower()
    if acks not in ("all", "-1", "0", "1"):
        raise BadOption(f"kafka.acks is all, 1 or 0, not {acks!r}")
    is_less = acks in ("0", "1")
    return f"kafka.acks is {acks}, and all is done: with less, acknowledged records could be lost" if is_less else ""


def _broker(given: UserOptions) -> Broker:
    broker, retries = parse_broker(given), given.amount("kafka.retries")
    blocked_s = given.seconds("kafka.max.block.ms", broker.timeout_s)
    return replace(
        broker,
        timeout_s=given.seconds("kafka.delivery.timeout.ms", blocked_s),
        patience=replace(broker.patience, attempts_max=None if retries is None else retries + 1),
    )


def _limits(given: UserOptions) -> BatchLimits:
    record_bytes, linger_ms = given.count("kafka.max.request.size"), given.amount("kafka.linger.ms")
    batch_bytes = given.amount("kafka.batch.size")
    most = USUAL.batch_bytes if batch_bytes is None else batch_bytes
    return BatchLimits(
        batch_bytes=most if record_bytes is None else min(most, record_bytes),
        record_bytes=record_bytes,
        linger_s=None if linger_ms is None else linger_ms / 1000,
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
