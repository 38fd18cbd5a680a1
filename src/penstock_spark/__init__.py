"""Topics as Spark tables and streams: `spark.read.format("penstock")`. It reaches brokers over the Kafka protocol only."""
