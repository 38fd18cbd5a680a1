"""One segment: batches in a file, its derived indexes, reading and searching it."""
