"""Spark over topics: `format("penstock")` beside Spark's own connector, in one session, in turn."""
