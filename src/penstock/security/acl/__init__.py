"""Access control lists as Kafka's StandardAuthorizer has them: rules, filters, their index, the decisions. No I/O."""
