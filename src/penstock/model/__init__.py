"""Values only: ids, record batches, records, compression, error codes, limits. No I/O, no clocks."""
