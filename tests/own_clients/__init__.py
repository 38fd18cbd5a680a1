"""Our own clients at a secured broker: Penstock, and with `-m compat` Apache Kafka."""
