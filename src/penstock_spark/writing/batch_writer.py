"""A batch write to topics: at least once while tasks run, or everything at once in the end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from penstock_spark.writing.ahead import Ahead, committed_ahead
from penstock_spark.writing.exactly_once import UnrepeatedWork, write_atomically
from penstock_spark.writing.options import Delivery, WriteOptions, tell
from penstock_spark.writing.record_columns import RecordColumns
from penstock_spark.writing.task_output import Rows, TaskOutput, encoded_by_driver, gathered

if TYPE_CHECKING:
    import pyarrow as pa


class BatchWriter(DataSourceArrowWriter):
    """A batch write. `write` runs on executors, `commit` once on the driver."""

    def __init__(self, options: WriteOptions, columns: RecordColumns) -> None:
        self.options, self._columns = options, columns
        self.ahead: Ahead | None = None
        self._name = f"penstock-write-{uuid.uuid4()}"
        tell(options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        from penstock_spark.writing.tasks import encoded, gather, produce, task_number

        options = self.options
        with options.broker.session() as cluster:
            batches = encoded(cluster, options, self._columns, iterator, task_number())
            if options.delivery is Delivery.AT_LEAST_ONCE:
                return TaskOutput(None, produce(cluster, batches))
            return gather(cluster, batches, TaskOutput(None), options)

    def work(self) -> UnrepeatedWork:
        """The transaction of all output."""
        return UnrepeatedWork(self.options.broker.session(), self._name, self.options.transaction_timeout_ms)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        outputs = [each for each in messages if isinstance(each, TaskOutput)]
        rows = [each for each in messages if isinstance(each, Rows)]
        is_done = self.options.delivery is Delivery.AT_LEAST_ONCE or not any(each.rows for each in outputs)
        if is_done and not rows:
            return
        encoded = partial(encoded_by_driver, options=self.options, columns=self._columns, rows=rows)
        if committed_ahead(self.ahead, outputs, encoded):
            return
        with self.options.broker.session() as cluster:
            outputs += encoded(cluster)
            if self.options.delivery is not Delivery.AT_LEAST_ONCE:
                write_atomically(cluster, self._name, self.options.transaction_timeout_ms, gathered(cluster, outputs))
