"""Topics as Spark tables and streams: `format("penstock")`. Brokers are reached over the Kafka protocol only."""
