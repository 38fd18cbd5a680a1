"""Jobs over many rows: files and tables into topics, exactly once, over the wire of any Kafka broker."""
