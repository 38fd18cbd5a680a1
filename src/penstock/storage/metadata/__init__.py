"""`meta.db`: what segments cannot give back, in SQLite."""
