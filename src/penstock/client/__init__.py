"""A Kafka client that works on whole record batches: what other parts of Penstock reach any Kafka broker with."""
