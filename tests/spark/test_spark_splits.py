"""How Spark's own source divides ranges into tasks, and how ours does: the same, but never into too few."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock_spark.reading.planning.ranges import OffsetRange, split
from tests.spark.conftest import CONNECTOR

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector"),
]

Piece = tuple[int, int, int]
"""Partition, first offset, end."""

spans = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5000) | st.integers(0, 3)), min_size=1, max_size=8)


def theirs(session: SparkSession, ranges: list[Piece], least: int | None, most: int | None) -> list[Piece]:
    """The result of the connector's own calculator."""
    jvm: Any = session._jvm
    package, convert = jvm.org.apache.spark.sql.kafka010, jvm.scala.jdk.javaapi.CollectionConverters
    given_ranges = jvm.java.util.ArrayList()
    for partition, first, end in ranges:
        place = jvm.org.apache.kafka.common.TopicPartition("t", partition)
        given_ranges.add(package.KafkaOffsetRange(place, first, end, jvm.scala.Option.empty()))
    given_options = {"minPartitions": least, "maxRecordsPerPartition": most}
    options = jvm.java.util.HashMap()
    for name, value in given_options.items():
        if value is not None:
            options.put(name, str(value))
    calculator = package.KafkaOffsetRangeCalculator.apply(
        jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(options)
    )
    none = convert.asScala(jvm.java.util.ArrayList()).toSeq()
    found = convert.asJava(calculator.getRanges(convert.asScala(given_ranges).toSeq(), none))
    return [(each.topicPartition().partition(), each.fromOffset(), each.untilOffset()) for each in found]


@pytest.mark.feature("S-01")
@settings(
    max_examples=60, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(spans, st.none() | st.integers(1, 40), st.none() | st.integers(1, 2000))
def test_tasks_are_those_of_sparks_own_source(
    spark: SparkSession, sizes: list[tuple[int, int]], least: int | None, most: int | None
) -> None:
    ranges = [(index, first, first + size) for index, (first, size) in enumerate(sizes)]
    wanted = theirs(spark, ranges, least, most)
    pieces = split([OffsetRange("t", *each) for each in ranges], least_count=least, most_records=most)
    ours = [(each.partition, each.first, each.end) for each in pieces if each.size]
    if least is None or len(wanted) >= least:
        assert ours == wanted
    else:  # rounding left them with too few
        assert len(ours) == min(least, sum(size for _, size in sizes))
