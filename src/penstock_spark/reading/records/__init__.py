"""Decoding of a partition's batches into Arrow columns, without a Python object per record."""
