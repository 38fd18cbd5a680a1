"""Spark imports modules named `pyspark_*` in every session with Python sources: `format("penstock")` comes from here.

Nothing heavy may be imported at this place; the source imports what it needs when it is used.
"""

from penstock_spark.source import PenstockDataSource as DefaultSource

__all__ = ["DefaultSource"]
