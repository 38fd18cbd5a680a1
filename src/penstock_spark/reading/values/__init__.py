"""Values of records as typed columns: JSON, CSV and Avro, from Arrow to Arrow, with no Python object for a row."""
