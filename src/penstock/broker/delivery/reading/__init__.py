"""Committed records of a partition, read and encoded as items of DATA frames."""
