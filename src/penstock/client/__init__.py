"""A Kafka client for whole record batches, with which other parts of Penstock reach any Kafka broker."""
