"""Client telemetry (KIP-714): what clients are asked to push, and what they have pushed."""
