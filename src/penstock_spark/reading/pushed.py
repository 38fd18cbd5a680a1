"""What the part in Spark's JVM pushes down: the columns that a query needs, and filters that choose ranges.

It comes as a remark on the first column of the schema that Spark has for a reader. Without that part there is none, and
a query reads all columns of its schema.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql.types import StructType

from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.conditions import Condition, spans_of
from penstock_spark.reading.planning.spans import EVERYTHING, Span

REMARK = "penstock.pushed"


@dataclass(frozen=True)
class Pushed:
    """`schema` has all columns of the source, `columns` those that are wanted."""

    schema: StructType
    columns: tuple[str, ...]
    condition: Condition

    @staticmethod
    def of(schema: StructType) -> Pushed | None:
        remark = schema[0].metadata.get(REMARK) if len(schema) else None
        if remark is None:
            return None
        found = json.loads(remark)
        whole = StructType.fromJson(json.loads(found["schema"]))
        return Pushed(whole, tuple(schema.names), found["filters"])

    def spans(self, place: TopicPartition, *, only_places: bool) -> list[Span]:
        """The spans of a partition that are needed. With `only_places` it is needed as a whole or not at all."""
        found = spans_of(self.condition, place)
        return [EVERYTHING] if found and only_places else found
