"""What a Kafka broker really answers, one fact a test, over raw frames; Apache Kafka 4.3.0 is the control."""
