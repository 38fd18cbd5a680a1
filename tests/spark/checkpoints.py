"""A streaming job over one checkpoint, by either source, and checkpoints as a kill leaves them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

WITHIN_S = 100


class Job:
    """From topics to files. What is there when it is started is read, in one batch or more; then it ends."""

    shown = "CAST(value AS STRING)"
    """What becomes of a record, in SQL."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path, **options: Any) -> None:
        self._spark, self._directory = spark, directory
        self.options = {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest", **options}
        self.checkpoint, self.files = directory / "checkpoint", directory / "files"

    def start(self, source: str, **options: Any) -> StreamingQuery:
        frame = self._spark.readStream.format(source).options(**{**self.options, **options}).load()
        writer = frame.selectExpr(f"{self.shown} AS value").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self.checkpoint)).option("path", str(self.files))
        return writer.trigger(availableNow=True).start()

    def run(self, source: str, **options: Any) -> StreamingQuery:
        query = self.start(source, **options)
        assert query.awaitTermination(WITHIN_S)
        return query

    def fail(self, source: str, **options: Any) -> str:
        """What a query that fails tells."""
        query = self.start(source, **options)
        try:
            query.awaitTermination(WITHIN_S)
        except Exception as error:
            return str(error)
        raise AssertionError("the query did not fail")

    def count(self, source: str) -> None:
        """Instead of copying: how often each value came, into a directory for each batch."""
        frame = self._spark.readStream.format(source).options(**self.options).load()
        counts = frame.groupBy("value").count().selectExpr("CAST(value AS STRING) AS value", "count")
        writer = counts.writeStream.outputMode("update").foreachBatch(self._keep())
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(WITHIN_S)

    def _keep(self) -> Callable[[DataFrame, int], None]:
        files = str(self.files)

        def keep(frame: DataFrame, number: int) -> None:
            frame.write.mode("overwrite").parquet(f"{files}/batch={number}")

        return keep

    def rows(self) -> list[str]:
        if not list(self.files.glob("_spark_metadata/[0-9]*")):
            return []
        return sorted(row.value for row in self._spark.read.schema("value STRING").parquet(str(self.files)).collect())

    def counted(self) -> dict[str, int]:
        latest: dict[str, int] = {}
        for row in self._spark.read.parquet(str(self.files)).orderBy("batch").collect():
            latest[row.value] = row["count"]
        return latest

    def batches(self) -> int:
        return len(list((self.checkpoint / "offsets").glob("[0-9]*")))

    def rewind(self, batch: int, *, is_committed: bool) -> None:
        """Leave what a kill would have left that came after this batch was planned, or after it was committed."""
        last = {"offsets": batch, "commits": batch if is_committed else batch - 1}
        for folder, newest in last.items():
            _forget(self.checkpoint / folder, newest)
        _forget(self.files / "_spark_metadata", last["commits"])


def _forget(folder: Path, newest: int) -> None:
    for file in folder.glob("[0-9]*"):
        if int(file.name.split(".")[0]) > newest:
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
