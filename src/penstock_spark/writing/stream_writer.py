"""A streaming write to topics, exactly once.

Tasks only encode. `commit`, on the driver, writes a whole batch in one transaction with a marker that has the batch's
number (`exactly_once`): a batch that is run again after a crash is written once. With `exactlyOnce=task` each task does
the same for its own part, for outputs that are too large for one driver; then a batch must always be cut in the same
way, which the marker's row count and checksum prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from penstock.client.cluster import Cluster
from penstock_spark.errors import OutputChanged
from penstock_spark.plain_errors import plainly
from penstock_spark.writing.ahead import Ahead, committed_ahead
from penstock_spark.writing.exactly_once import ExactlyOnce, NumberedWork
from penstock_spark.writing.idle_writers import writer
from penstock_spark.writing.options import Delivery, WriteOptions, tell
from penstock_spark.writing.record_columns import RecordColumns
from penstock_spark.writing.task_output import Rows, TaskOutput, encoded_by_driver, gathered

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock_spark.writing.encoding.encoder import Encoded


class StreamWriter(DataSourceStreamArrowWriter):
    """A streaming write. It is created for every call, so encoders are imported only where they are used."""

    def __init__(self, options: WriteOptions, columns: RecordColumns) -> None:
        self.options, self._columns = options, columns
        self.ahead: Ahead | None = None

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        from penstock_spark.writing.tasks import encoded, gather, produce, query_id, task_number

        options = self.options
        with options.broker.session() as cluster:
            batches = encoded(cluster, options, self._columns, iterator, task_number())
            match options.delivery:
                case Delivery.AT_LEAST_ONCE:
                    return TaskOutput(None, produce(cluster, batches))
                case Delivery.BY_TASK:
                    return self._write_own(cluster, batches, query_id())
                case Delivery.BY_BATCH:
                    return gather(cluster, batches, TaskOutput(query_id()), options)

    def work(self, query: str, batch: int) -> NumberedWork:
        """The transaction of all output of a batch."""
        return NumberedWork(self._writer(query), batch)

    def _writer(self, query: str) -> AbstractContextManager[ExactlyOnce]:
        return writer(self.options.broker, _name(query), self.options.transaction_timeout_ms)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        tell(self.options)
        options = self.options
        outputs = [each for each in messages if isinstance(each, TaskOutput)]
        rows = [each for each in messages if isinstance(each, Rows)]
        if options.delivery is Delivery.AT_LEAST_ONCE and rows:
            with options.broker.session() as cluster:
                encoded_by_driver(cluster, self.options, self._columns, rows)
        if options.delivery is not Delivery.BY_BATCH or not (rows or any(each.rows for each in outputs)):
            return
        encoded = partial(encoded_by_driver, options=options, columns=self._columns, rows=rows)
        with plainly(), options.broker.plain_refusals():
            if committed_ahead(self.ahead, outputs, encoded):
                return
            with self._writer(_query([*outputs, *rows])) as once:
                outputs += encoded(once.cluster)  # before the transaction
                once.write(batchId, lambda: gathered(once.cluster, outputs))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        outputs = [each for each in messages if isinstance(each, Rows) or (isinstance(each, TaskOutput) and each.rows)]
        if self.options.delivery is Delivery.BY_BATCH and outputs:
            with self.options.broker.session() as cluster:
                ExactlyOnce(cluster, _name(_query(outputs)), self.options.transaction_timeout_ms).abort()

    def _write_own(self, cluster: Cluster, batches: Iterator[Encoded], query: str) -> TaskOutput:
        """Write the output of this task. Output that was written before is only counted, and must be the same."""
        from crc32c import crc32c

        from penstock_spark.writing.tasks import batch_number, task_number

        number = batch_number()
        name = f"penstock-{query}-{task_number()}"
        once = ExactlyOnce(cluster, name, self.options.transaction_timeout_ms)
        found = once.begin()
        is_done = found is not None and found.content["batch"] >= number
        rows = checksum = 0
        for each in batches:
            rows += each.rows
            checksum = crc32c(each.payload, checksum)
            if not is_done:
                once.send([(each.place, each.batch)])
        if is_done:
            assert found is not None
            _check_same(name, number, found.content, rows, checksum)
        elif rows:
            once.finish({"batch": number, "rows": rows, "checksum": checksum})
        return TaskOutput(query, rows)


def _query(outputs: Sequence[TaskOutput | Rows]) -> str:
    query = outputs[0].query
    assert query is not None
    return query


def _name(query: str) -> str:
    """The name under which the batches of a query are written."""
    return f"penstock-{query}"


def _check_same(name: str, number: int, marker: dict[str, int], rows: int, checksum: int) -> None:
    if marker["batch"] == number and (marker["rows"], marker["checksum"]) != (rows, checksum):
        raise OutputChanged(
            f"{name} wrote {marker['rows']} rows for batch {number} and now has {rows} others: exactlyOnce=task is for "
            "queries that cut their output alike each time, exactlyOnce=batch is for all"
        )
