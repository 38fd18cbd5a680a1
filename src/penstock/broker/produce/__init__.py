"""Appending what clients send: refusals, transactional batches, the quick path for requests that repeat."""
