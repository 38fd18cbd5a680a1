"""`format("penstock")`: what Spark asks of a data source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class PenstockDataSource(DataSource):
    """Imports happen in the methods: every session with any Python source imports this module."""

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> StructType:
        from penstock_spark.options import source_schema

        return source_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from penstock_spark.batch_reader import BatchReader
        from penstock_spark.options import parse_read

        return BatchReader(parse_read(self.options, schema, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from penstock_spark.options import parse_read
        from penstock_spark.stream_reader import StreamReader

        return StreamReader(parse_read(self.options, schema, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from penstock_spark.batch_writer import BatchWriter
        from penstock_spark.problems import BadOption
        from penstock_spark.record_columns import record_columns
        from penstock_spark.write_options import parse_write

        if overwrite:
            raise BadOption('a topic is never overwritten: mode("append")')
        options = parse_write(self.options, streaming=False)
        return BatchWriter(options, record_columns(schema, options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from penstock_spark.record_columns import record_columns
        from penstock_spark.stream_writer import StreamWriter
        from penstock_spark.write_options import parse_write

        options = parse_write(self.options, streaming=True)
        return StreamWriter(options, record_columns(schema, options))
