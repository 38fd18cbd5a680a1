"""Real Kafka clients and tools, unmodified, against the broker."""
