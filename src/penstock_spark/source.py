"""`format("penstock")`: the data source, as Spark's interface demands it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from penstock_spark.plain_errors import plainly

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class PenstockDataSource(DataSource):
    """The data source. Imports are in the methods: every session with any Python source imports this module."""

    @classmethod
    def name(cls) -> str:
        return "penstock"

    @plainly()
    def schema(self) -> StructType:
        from penstock_spark.reading.options import source_schema

        return source_schema(self.options)

    @plainly()
    def reader(self, schema: StructType) -> DataSourceReader:
        from penstock_spark.reading.batch_reader import BatchReader
        from penstock_spark.reading.options import parse_read
        from penstock_spark.reading.pushed import Pushed

        pushed = Pushed.of(schema)
        whole = schema if pushed is None else pushed.schema
        return BatchReader(parse_read(self.options, whole, streaming=False, pushed=pushed))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from penstock_spark.errors import BadOption
        from penstock_spark.reading.options import parse_read
        from penstock_spark.reading.refused_reader import RefusedReader
        from penstock_spark.reading.stream_reader import StreamReader

        try:
            return StreamReader(parse_read(self.options, schema, streaming=True))
        except BadOption as error:
            return RefusedReader(error)

    @plainly()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from penstock_spark.errors import BadOption
        from penstock_spark.writing.batch_writer import BatchWriter
        from penstock_spark.writing.options import parse_write
        from penstock_spark.writing.record_columns import record_columns

        if overwrite:
            raise BadOption('a topic is never overwritten: mode("append")')
        options = parse_write(self.options, streaming=False)
        return BatchWriter(options, record_columns(schema, options))

    @plainly()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from penstock_spark.writing.options import parse_write
        from penstock_spark.writing.record_columns import record_columns
        from penstock_spark.writing.stream_writer import StreamWriter

        options = parse_write(self.options, streaming=True)
        return StreamWriter(options, record_columns(schema, options))
