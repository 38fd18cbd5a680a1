"""A batch write to topics: at least once while tasks run, or everything at once in the end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from penstock_spark.writing.exactly_once import write_atomically
from penstock_spark.writing.options import Delivery, WriteOptions, tell
from penstock_spark.writing.record_columns import RecordColumns
from penstock_spark.writing.task_output import TaskOutput, gathered

if TYPE_CHECKING:
    import pyarrow as pa


class BatchWriter(DataSourceArrowWriter):
    """A batch write. `write` runs on executors, `commit` once on the driver."""

    def __init__(self, options: WriteOptions, columns: RecordColumns) -> None:
        self._options, self._columns = options, columns
        self._name = f"penstock-write-{uuid.uuid4()}"
        tell(options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        from penstock_spark.writing.tasks import encoded, gather, produce

        options = self._options
        with options.broker.session() as cluster:
            batches = encoded(cluster, options, self._columns, iterator)
            if options.delivery is Delivery.AT_LEAST_ONCE:
                return TaskOutput(None, produce(cluster, batches))
            return gather(cluster, batches, TaskOutput(None), options.inline_bytes)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        outputs = [each for each in messages if isinstance(each, TaskOutput)]
        if self._options.delivery is Delivery.AT_LEAST_ONCE or not any(each.rows for each in outputs):
            return
        with self._options.broker.session() as cluster:
            write_atomically(cluster, self._name, self._options.transaction_timeout_ms, gathered(cluster, outputs))
