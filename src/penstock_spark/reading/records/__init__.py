"""From the batches of a partition to Arrow columns, no Python object per record."""
