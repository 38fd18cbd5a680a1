"""Appending clients' batches: refusals, transactional batches, the quick path for requests that repeat."""
