"""What the outside tests stand on: real broker processes and a client that speaks raw Kafka frames."""
