"""The login of a Kafka connection on a listener with SASL."""
