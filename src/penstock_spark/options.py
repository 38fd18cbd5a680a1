"""The options of a query, checked: names and meanings are those of Spark's Kafka source.

Keys arrive in lower case, with Spark's own among them. An option of Spark's source that this one does not have, or that
nobody has, is refused by name: an option that is ignored would be found out too late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.client.offsets import EARLIEST, LATEST
from penstock_spark.columns import FIELDS
from penstock_spark.given import Broker, Given, parse_broker
from penstock_spark.positions import Edge, Position, parse_offsets, parse_time, parse_times
from penstock_spark.problems import BadOption
from penstock_spark.selection import Selection, parse_selection

READ = (
    "assign", "columns", "endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp", "failOnDataLoss",
    "groupIdPrefix", "includeHeaders", "kafka.bootstrap.servers", "kafka.client.id", "kafka.default.api.timeout.ms",
    "kafka.group.id", "kafka.isolation.level", "kafka.request.timeout.ms", "maxOffsetsPerTrigger",
    "maxRecordsPerPartition", "maxTriggerDelay", "minOffsetsPerTrigger", "minPartitions", "startingOffsets",
    "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy", "startingTimestamp", "subscribe",
    "subscribePattern",
)  # fmt: skip
"""What can be said when reading."""
_STREAMS_ONLY = ("groupIdPrefix", "kafka.group.id", "maxOffsetsPerTrigger", "maxTriggerDelay", "minOffsetsPerTrigger")
_BATCHES_ONLY = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    broker: Broker
    selection: Selection
    starting: Position
    ending: Position
    columns: tuple[str, ...]
    committed: bool
    tolerant: bool
    """failOnDataLoss=false."""
    min_partitions: int | None
    max_records: int | None
    max_offsets: int | None
    min_offsets: int | None
    max_delay_s: float
    group: str | None
    """To which a streaming query reports its progress; without one a name is made up, once for each query."""
    group_prefix: str


def parse_read(options: Mapping[str, str], *, streaming: bool) -> ReadOptions:
    given = Given(options, READ)
    _refuse_elsewhere(given, streaming)
    return ReadOptions(
        broker=parse_broker(given),
        selection=parse_selection(given.text("subscribe"), given.text("subscribePattern"), given.text("assign")),
        starting=_starting(given, streaming),
        ending=_ending(given),
        columns=_columns(given),
        committed=_isolation(given),
        tolerant=not given.flag("failOnDataLoss", default=True),
        min_partitions=given.count("minPartitions"),
        max_records=given.count("maxRecordsPerPartition"),
        max_offsets=given.count("maxOffsetsPerTrigger"),
        min_offsets=given.count("minOffsetsPerTrigger"),
        max_delay_s=_seconds("maxTriggerDelay", given.text("maxTriggerDelay") or "15m"),
        group=given.text("kafka.group.id"),
        group_prefix=given.text("groupIdPrefix") or "spark-penstock-source",
    )


def columns_of(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of a query that may be a batch or a stream."""
    return _columns(Given(options, READ))


def _refuse_elsewhere(given: Given, streaming: bool) -> None:
    for name in _BATCHES_ONLY if streaming else _STREAMS_ONLY:
        if given.text(name) is not None:
            raise BadOption(f"{name} is for {'batch' if streaming else 'streaming'} queries only")


def _starting(given: Given, streaming: bool) -> Position:
    strategy = (given.text("startingOffsetsByTimestampStrategy") or "error").lower()
    if strategy not in ("error", "latest"):
        raise BadOption(f"startingOffsetsByTimestampStrategy is error or latest, not {strategy!r}")
    or_latest = strategy == "latest"
    if (text := given.text("startingTimestamp")) is not None:
        return parse_time("startingTimestamp", text, is_end=False, or_latest=or_latest)
    if (text := given.text("startingOffsetsByTimestamp")) is not None:
        return parse_times("startingOffsetsByTimestamp", text, is_end=False, or_latest=or_latest)
    if (text := given.text("startingOffsets")) is not None:
        return parse_offsets("startingOffsets", text, forbidden=None if streaming else LATEST)
    return Edge(LATEST if streaming else EARLIEST)


def _ending(given: Given) -> Position:
    if (text := given.text("endingTimestamp")) is not None:
        return parse_time("endingTimestamp", text, is_end=True, or_latest=True)
    if (text := given.text("endingOffsetsByTimestamp")) is not None:
        return parse_times("endingOffsetsByTimestamp", text, is_end=True, or_latest=True)
    if (text := given.text("endingOffsets")) is not None:
        return parse_offsets("endingOffsets", text, forbidden=EARLIEST)
    return Edge(LATEST)


def _columns(given: Given) -> tuple[str, ...]:
    with_headers = given.flag("includeHeaders", default=False)
    text = given.text("columns")
    if text is None:
        return tuple(name for name in FIELDS if name != "headers" or with_headers)
    by_lower = {name.lower(): name for name in FIELDS}
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name.lower() not in by_lower]
    if unknown or not names:
        raise BadOption(f"columns names {', '.join(unknown) or 'nothing'}; there are: {', '.join(FIELDS)}")
    return tuple(dict.fromkeys(by_lower[name.lower()] for name in names))


def _isolation(given: Given) -> bool:
    level = (given.text("kafka.isolation.level") or "read_committed").lower()
    if level not in ("read_committed", "read_uncommitted"):
        raise BadOption(f"kafka.isolation.level is read_committed or read_uncommitted, not {level!r}")
    return level == "read_committed"


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(name: str, text: str) -> float:
    """As Spark writes times: 500ms, 30s, 15m."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(number) :] or "ms"
    if not number.strip().isdecimal() or unit not in _UNITS:
        raise BadOption(f"{name} is a time such as 500ms, 30s or 15m, not {text!r}")
    return int(number) * _UNITS[unit]
