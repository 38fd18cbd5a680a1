"""Every option of `format("penstock")` and of Spark's own connector, with what it does here."""
