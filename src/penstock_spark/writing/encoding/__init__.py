"""Encoding of Arrow columns as record batches for the wire."""
