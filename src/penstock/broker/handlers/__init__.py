"""One file per Kafka API."""
