"""From topics to rows: which offsets, which records, which columns."""
