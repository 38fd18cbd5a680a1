"""Progress in a partition, offset by offset: which are in flight and which are done, and their stored form."""
