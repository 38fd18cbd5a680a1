"""`meta.db`: the facts that segments cannot give back, in SQLite."""
