"""From Arrow columns to record batches for the wire."""
