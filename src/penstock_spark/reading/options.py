"""The options of a query, checked: names and meanings are those of Spark's Kafka source.

What each option does is in `penstock_spark.options`; here are the values that they give to a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.client.offsets import EARLIEST, LATEST
from penstock.client.patience import Patience
from penstock_spark.errors import BadOption
from penstock_spark.options.option import Use
from penstock_spark.reading.planning.positions import Edge, Position, parse_offsets, parse_time, parse_times
from penstock_spark.reading.planning.selection import Selection, parse_selection
from penstock_spark.reading.pushed import Pushed
from penstock_spark.reading.records.fetch_limits import USUAL, FetchLimits
from penstock_spark.reading.records.fields import FIELDS, arrow_schema
from penstock_spark.reading.records.transaction_wait import WAIT_S
from penstock_spark.reading.tables.options import parse_table, table_schema, value_format
from penstock_spark.reading.tables.table import Table
from penstock_spark.user_options import Broker, UserOptions, parse_broker

ANSWER_S = 5.0
"""The least time for an answer, besides what a broker waits for data: a shorter timeout would be met by chance."""
HASTY_S = 5.0
_NOT_WITH_UPSERT = ("maxRecordsPerPartition", "minPartitions")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    broker: Broker
    """As tasks reach it."""
    planner: Broker
    """As the driver reaches it, to look up partitions and offsets."""
    limits: FetchLimits
    selection: Selection
    starting: Position
    ending: Position
    columns: tuple[str, ...]
    """Columns of records; those of a table are made from them."""
    table: Table | None
    upsert: bool
    """Whether to read only the latest record of each key."""
    committed: bool
    tolerant: bool
    """failOnDataLoss=false."""
    min_partitions: int | None
    max_records: int | None
    max_offsets: int | None
    min_offsets: int | None
    max_delay_s: float
    poll_timeout_s: float
    """How long records that a transaction holds back are waited for."""
    group: str | None
    """The group to which a streaming query reports its progress; without one each query gets a generated name."""
    group_prefix: str
    pushed: Pushed | None = None
    """What Spark has pushed down; `columns` and `table` follow it already."""


def parse_read(
    options: Mapping[str, str], schema: StructType | None = None, *, streaming: bool, pushed: Pushed | None = None
) -> ReadOptions:
    """Parse the options of a query.

    `schema` is the one that Spark has for the source, before columns are pruned; None: it follows from the options.
    """
    given = UserOptions(options)
    notice = given.allow(Use.STREAM if streaming else Use.BATCH)
    broker = parse_broker(given)
    upsert = _upsert(given, streaming)
    table = _table(given, schema, upsert)
    columns = _columns(given) if table is None else table.needed
    if table is None and schema is not None and schema.simpleString() != _of_columns(columns).simpleString():
        raise BadOption("a schema is for typed columns and needs valueFormat; columns says which columns are wanted")
    if upsert:
        _check_upsert(columns)
    if pushed is not None:
        table = None if table is None else replace(table, shown=pushed.columns)
        columns = table.needed if table is not None else _pruned(columns, pushed.columns, upsert)
    limits = _limits(given)
    return ReadOptions(
        broker=replace(broker, timeout_s=_of_tasks(given, limits, broker.timeout_s)),
        planner=replace(broker, patience=_of_planner(given, broker.patience), notice=notice),
        limits=limits,
        selection=_selection(given),
        starting=_starting(given, streaming),
        ending=_ending(given),
        columns=columns,
        table=table,
        upsert=upsert,
        committed=_isolation(given),
        tolerant=not given.flag("failOnDataLoss", default=True),
        min_partitions=given.count("minPartitions"),
        max_records=given.count("maxRecordsPerPartition"),
        max_offsets=given.count("maxOffsetsPerTrigger"),
        min_offsets=given.count("minOffsetsPerTrigger"),
        max_delay_s=_seconds("maxTriggerDelay", given.text("maxTriggerDelay") or "15m"),
        poll_timeout_s=given.seconds("kafkaConsumer.pollTimeoutMs", WAIT_S),
        group=given.text("kafka.group.id"),
        group_prefix=given.text("groupIdPrefix") or "spark-penstock-source",
        pushed=pushed,
    )


def hasty(options: ReadOptions) -> ReadOptions:
    """The options of a read that fails soon where others wait."""
    broker = replace(options.broker, timeout_s=min(options.broker.timeout_s, HASTY_S))
    return replace(options, broker=broker, poll_timeout_s=0.0)


def source_schema(options: Mapping[str, str]) -> StructType:
    """The schema of a query, batch or stream. Without a schema for values it is inferred from a sample."""
    given = UserOptions(options)
    if value_format(given) is None:
        return _of_columns(_columns(given))
    return table_schema(given, lambda form, separator: _inferred(given, form, separator))


def _inferred(given: UserOptions, form: str, separator: str) -> StructType:
    from penstock_spark.reading.tables.inference import (  # few queries need it
        SAMPLE_RECORDS,
        inferred_schema,
        read_sample,
    )

    size = given.count("sampleRecords") or SAMPLE_RECORDS
    selection, committed = _selection(given), _isolation(given)
    with parse_broker(given).session() as cluster:
        return inferred_schema(read_sample(cluster, selection, size, committed=committed), form, separator)


def _of_columns(columns: tuple[str, ...]) -> StructType:
    return from_arrow_schema(arrow_schema(columns))


def _table(given: UserOptions, schema: StructType | None, upsert: bool) -> Table | None:
    if value_format(given) is None:
        return None
    wanted = schema or table_schema(given, lambda form, separator: _inferred(given, form, separator))
    return parse_table(given, wanted, upsert=upsert)


def _pruned(columns: tuple[str, ...], wanted: tuple[str, ...], upsert: bool) -> tuple[str, ...]:
    """The columns that must be read for those that are wanted: first these, then what decides which rows there are."""
    further = [name for name in columns if name == "_corrupt" or (name == "key" and upsert)]
    return tuple(dict.fromkeys((*wanted, *further)))


def _check_upsert(columns: tuple[str, ...]) -> None:
    if "key" not in columns:
        raise BadOption("mode=upsert needs the column key: columns leaves it out")
    if "_corrupt" in columns:
        raise BadOption("mode=upsert has no _corrupt: the latest value of a key may be in what cannot be decoded")


def _upsert(given: UserOptions, streaming: bool) -> bool:
    mode = (given.text("mode") or "append").lower()
    if mode not in ("append", "upsert"):
        raise BadOption(f"mode is append or upsert, not {mode!r}")
    if mode == "append":
        return False
    if streaming:
        raise BadOption("mode=upsert is for batch queries only: which value is the latest is not known while more come")
    for name in _NOT_WITH_UPSERT:
        if given.text(name) is not None:
            raise BadOption(f"mode=upsert reads each partition in one task: {name} makes no sense with it")
    return True


def _selection(given: UserOptions) -> Selection:
    return parse_selection(given.text("subscribe"), given.text("subscribePattern"), given.text("assign"))


def _of_planner(given: UserOptions, usual: Patience) -> Patience:
    pause_s = given.amount("fetchOffset.retryIntervalMs")
    attempts = given.count("fetchOffset.numRetries")
    if pause_s is None:
        return replace(usual, attempts_max=attempts)
    return replace(usual, attempts_max=attempts, pause_s=pause_s / 1000, pause_s_max=pause_s / 1000)


def _of_tasks(given: UserOptions, limits: FetchLimits, usual_s: float) -> float:
    """How long tasks try to read. An answer may take the time that the broker waits for data, and some more."""
    least_s = limits.max_wait_ms / 1000 + ANSWER_S
    return max(given.seconds("kafkaConsumer.pollTimeoutMs", usual_s), min(least_s, usual_s))


def _limits(given: UserOptions) -> FetchLimits:
    sizes = given.count("kafka.fetch.max.bytes"), given.count("kafka.max.partition.fetch.bytes")
    wait_ms = given.amount("kafka.fetch.max.wait.ms")
    return FetchLimits(
        max_bytes=min((size for size in sizes if size is not None), default=USUAL.max_bytes),
        min_bytes=given.count("kafka.fetch.min.bytes") or USUAL.min_bytes,
        max_wait_ms=USUAL.max_wait_ms if wait_ms is None else wait_ms,
        rows=given.count("kafka.max.poll.records") or USUAL.rows,
    )


def _starting(given: UserOptions, streaming: bool) -> Position:
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


def _ending(given: UserOptions) -> Position:
    if (text := given.text("endingTimestamp")) is not None:
        return parse_time("endingTimestamp", text, is_end=True, or_latest=True)
    if (text := given.text("endingOffsetsByTimestamp")) is not None:
        return parse_times("endingOffsetsByTimestamp", text, is_end=True, or_latest=True)
    if (text := given.text("endingOffsets")) is not None:
        return parse_offsets("endingOffsets", text, forbidden=EARLIEST)
    return Edge(LATEST)


def _columns(given: UserOptions) -> tuple[str, ...]:
    with_headers = given.flag("includeHeaders", default=False)
    text = given.text("columns")
    if text is None:
        left_out = {"_corrupt"} if with_headers else {"_corrupt", "headers"}
        return tuple(name for name in FIELDS if name not in left_out)
    by_lower = {name.lower(): name for name in FIELDS}
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name.lower() not in by_lower]
    if unknown or not names:
        raise BadOption(f"columns names {', '.join(unknown) or 'nothing'}; there are: {', '.join(FIELDS)}")
    return tuple(dict.fromkeys(by_lower[name.lower()] for name in names))


def _isolation(given: UserOptions) -> bool:
    level = (given.text("kafka.isolation.level") or "read_committed").lower()
    if level not in ("read_committed", "read_uncommitted"):
        raise BadOption(f"kafka.isolation.level is read_committed or read_uncommitted, not {level!r}")
    return level == "read_committed"


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(name: str, text: str) -> float:
    """Seconds of a time in Spark's notation: 500ms, 30s, 15m."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(number) :] or "ms"
    if not number.strip().isdecimal() or unit not in _UNITS:
        raise BadOption(f"{name} is a time such as 500ms, 30s or 15m, not {text!r}")
    return int(number) * _UNITS[unit]
