"""Values of records as typed columns: JSON, CSV and Avro, from Arrow to Arrow, without a Python object per row."""
