"""Client quotas: who may use how much, measured and enforced as Apache Kafka does it."""
