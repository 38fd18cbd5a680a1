"""Client telemetry (KIP-714): subscriptions to clients' metrics, and the metrics that they have pushed."""
