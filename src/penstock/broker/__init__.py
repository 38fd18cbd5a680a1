"""Kafka semantics: dispatcher, purgatory, groups, one handler file per API."""
