"""Client quotas, measured and enforced as in Apache Kafka."""
