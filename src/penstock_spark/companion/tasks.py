"""What Spark's workers do with a task, as the part in the JVM gives it to them: they are pickled by their names.

The forms are those of PySpark: an iterator of Arrow batches in, one out. A reading task is given its pickled range as
the one value of one row; a writing task returns its pickled output as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.serializers import CPickleSerializer
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceReader, DataSourceStreamArrowWriter
from pyspark.sql.datasource import DataSourceStreamReader as StreamReader
from pyspark.sql.types import BinaryType, DataType, StructType

if TYPE_CHECKING:
    import pyarrow as pa

MESSAGE = StructType().add("message", BinaryType())
"""What a writing task returns."""
_pickler: Any = CPickleSerializer()


def pickled(value: object) -> bytes:
    found: bytes = _pickler.dumps(value)
    return found


def unpickled(value: bytes) -> Any:
    return _pickler.loads(value)


def command(function: ReadTask | WriteTask, returns: DataType) -> bytes:
    return pickled((function, returns))


class ReadTask:
    """Reads the rows of one range."""

    def __init__(self, reader: DataSourceReader | StreamReader) -> None:
        self._reader = reader

    def __call__(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (range_,) = (batch.column(0)[0].as_py() for batch in given)
        yield from self._reader.read(unpickled(range_))


class WriteTask:
    """Writes, or only encodes, the rows of one partition of a frame."""

    def __init__(self, writer: DataSourceArrowWriter | DataSourceStreamArrowWriter) -> None:
        self._writer = writer

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        output = pickled(self._writer.write(rows))
        yield pa.record_batch([pa.array([output])], names=MESSAGE.names)
