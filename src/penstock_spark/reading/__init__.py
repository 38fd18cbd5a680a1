"""Reading of topics as rows: offsets, records, columns."""
