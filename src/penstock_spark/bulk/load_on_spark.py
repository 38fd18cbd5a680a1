"""`penstock load --spark`: many or very large files, read by Spark's tasks and written by our sink.

It is a streaming query over files that ends when all are done (`availableNow`): its checkpoint has the files that were
loaded, and the sink writes each of its batches exactly once. So the checkpoint is the job: started again with the same
one, it continues and loads files that were added since. Rows appended to a file that was loaded are not seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StringType, StructField, StructType

from penstock.bulk.errors import BulkError, Missing, Unfit
from penstock.bulk.load_job import LoadRequest
from penstock.bulk.opening import SUFFIXES, format_of
from penstock.bulk.progress import Progress
from penstock.model.compression import CODEC_NAMES

POLL_S = 1
FORMATS = ("csv", "jsonl", "parquet")
_SPECIAL = re.compile(r"[\\*?\[\]{}]")
LINE = "value"
"""The column of Spark's text source."""


@dataclass(frozen=True, kw_only=True)
class SparkLoad:
    """A `LoadRequest`, and the further settings of Spark."""

    load: LoadRequest
    bootstrap: str
    checkpoint: Path
    command_config: Path | None = None
    """A file with properties of the client. Its name is an option, and in Spark's log; what is in it is not."""
    files_per_batch: int = 100

    @property
    def kind(self) -> str:
        path = self.load.path
        first = next((each for each in sorted(path.iterdir()) if each.is_file()), path) if path.is_dir() else path
        return format_of(first, self.load.reading.format or SUFFIXES.get(first.suffix.lower()))


def load_on_spark(spark: SparkSession, request: SparkLoad, progress: Progress) -> int:
    """Load the files. Returns the number of rows that this run has loaded."""
    if request.kind not in FORMATS:
        raise Unfit(f"Spark reads {', '.join(FORMATS)}, not {request.kind}", "leave out --spark")
    try:
        query = _start(_records(_rows(spark, request), request), request)
        progress.begin(None)
        return _follow(query, progress)
    except PySparkException as error:
        raise BulkError(_reason(error), "earlier commits stay") from error


def _start(records: DataFrame, request: SparkLoad) -> StreamingQuery:
    return (
        records.writeStream.format("penstock")
        .option("kafka.bootstrap.servers", request.bootstrap)
        .option("commandConfig", "" if request.command_config is None else str(request.command_config.absolute()))
        .option("topic", request.load.topic)
        .option("compression", CODEC_NAMES[request.load.codec])
        .option("delivery", "exactly-once")
        .option("checkpointLocation", str(request.checkpoint.absolute()))
        .trigger(availableNow=True)
        .start()
    )


def _follow(query: StreamingQuery, progress: Progress) -> int:
    rows, seen = 0, -1
    is_over = False
    while not is_over:
        is_over = bool(query.awaitTermination(POLL_S))
        for each in query.recentProgress:
            if each["batchId"] > seen:
                seen = each["batchId"]
                rows += each["numInputRows"]
                progress.advance(each["numInputRows"], rows)
    return rows


# --- rows ------------------------------------------------------------------------------------------------------------


def _rows(spark: SparkSession, request: SparkLoad) -> DataFrame:
    path, reading = _pattern(request.load.path), request.load.reading
    stream = spark.readStream.option("maxFilesPerTrigger", request.files_per_batch)
    if request.kind == "jsonl":
        return stream.format("text").load(path).where(F.trim(LINE) != "")
    if request.kind == "parquet":
        return stream.schema(spark.read.parquet(path).schema).parquet(path)
    options = {"header": str(reading.columns is None), "sep": reading.delimiter or ",", "mode": "FAILFAST"}
    schema = spark.read.options(**options).csv(path).schema
    if reading.columns is not None:
        if len(reading.columns) != len(schema.names):
            raise Unfit(f"--columns names {len(reading.columns)}, and the files have {len(schema.names)}")
        schema = StructType([StructField(name, StringType()) for name in reading.columns])
    return stream.schema(schema).options(**options).csv(path)


def _pattern(path: Path) -> str:
    """A pattern for the path: Spark reads names as patterns, and streams accept a single file only so (`a.cs[v]`)."""
    if not path.exists():
        return str(path)  # a pattern of the user's own
    text = _SPECIAL.sub(r"\\\g<0>", str(path.absolute()))
    if path.is_file() and text[-1].isalnum():
        text = f"{text[:-1]}[{text[-1]}]"
    return text


def _records(rows: DataFrame, request: SparkLoad) -> DataFrame:
    shape = request.load.shape
    columns = [_value(rows, request).alias("value")]
    if shape.key is not None:
        columns.append(_cell(rows, request, shape.key).cast("string").alias("key"))
    if shape.timestamp is not None:
        columns.append(_time(rows, request, shape.timestamp).alias("timestamp"))
    return rows.select(*columns)


def _value(rows: DataFrame, request: SparkLoad) -> Column:
    shape = request.load.shape
    if shape.value.startswith("column:"):
        return _cell(rows, request, shape.value.removeprefix("column:")).cast("string")
    if request.kind == "jsonl":
        if shape.value != "json":
            raise Unfit("the lines of a JSON file have no fixed columns for CSV", "use --value json")
        return F.col(LINE)
    for name in shape.numbers:
        _cell(rows, request, name)
    cells = [
        _quoted(name).cast("double").alias(name) if name in shape.numbers else _quoted(name) for name in rows.columns
    ]
    if shape.value == "csv":
        return F.to_csv(F.struct(*cells))
    return F.to_json(F.struct(*cells), {"ignoreNullFields": "false"})


def _cell(rows: DataFrame, request: SparkLoad, name: str) -> Column:
    if request.kind == "jsonl":
        return F.get_json_object(LINE, f"$['{name}']")
    if name not in rows.columns:
        raise Missing(f"{request.load.path} has no column {name}", f"it has {', '.join(rows.columns)}")
    return _quoted(name)


def _time(rows: DataFrame, request: SparkLoad, name: str) -> Column:
    """The timestamp from milliseconds since 1970, or from a date and time, as in a load without Spark."""
    cell = _cell(rows, request, name)
    text = cell.cast("string")
    milliseconds = F.timestamp_millis(F.when(text.rlike("^[0-9]+$"), text).cast("long"))
    return F.coalesce(milliseconds, F.when(~text.rlike("^[0-9]+$"), text).cast("timestamp"))


def _quoted(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _reason(error: PySparkException) -> str:
    """The line of Spark's message that names the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "Exception: [" in line or line.startswith("[")]
    return (causes or lines or ["Spark failed"])[-1].split("Exception: ", 1)[-1]
