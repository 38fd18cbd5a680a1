"""Commands that work with any Kafka broker."""
