"""Facts about the answers of a Kafka broker, one per test, over raw frames; Apache Kafka 4.3.0 is the control."""
