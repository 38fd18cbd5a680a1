"""Kafka semantics: gate and dispatcher, a handler per API, coordinators, and the push door."""
