"""Why the source does not take filters from Spark: what Spark 4.3 does to one that does.

Should this fail with a later Spark, pushing filters down to offsets and times becomes worth a thought.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition

from penstock_spark.reading.batch_reader import BatchReader

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SWITCH = "spark.sql.python.filterPushdown.enabled"


def source_with_filters() -> type[DataSource]:
    """Numbers from 0 to 9; takes `number = n`. Made in a function so that workers get it by value."""

    class Reader(DataSourceReader):
        def __init__(self) -> None:
            self._only: object = None

        def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
            for each in filters:
                if isinstance(each, EqualTo):
                    self._only = each.value
                else:
                    yield each

        def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
            return ((number,) for number in range(10) if self._only in (None, number))

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers_with_filters"

        def schema(self) -> str:
            return "number INT"

        def reader(self, schema: object) -> DataSourceReader:
            return Reader()

    return Source


@pytest.fixture
def with_filters(spark: SparkSession) -> Iterator[None]:
    spark.dataSource.register(source_with_filters())
    yield
    spark.conf.unset(SWITCH)


@pytest.mark.usefixtures("with_filters")
def test_a_source_that_takes_filters_cannot_be_read_by_default(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="DATA_SOURCE_PUSHDOWN_DISABLED"):
        spark.read.format("numbers_with_filters").load().count()


@pytest.mark.usefixtures("with_filters")
def test_switched_on_the_filter_of_one_query_is_in_the_next(spark: SparkSession) -> None:
    spark.conf.set(SWITCH, "true")
    frame = spark.read.format("numbers_with_filters").load()
    assert frame.where("number = 3").count() == 1
    assert frame.count() == 1  # there are 10


def test_so_ours_takes_none() -> None:
    assert BatchReader.pushFilters is DataSourceReader.pushFilters
