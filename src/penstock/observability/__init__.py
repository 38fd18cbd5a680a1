"""Metrics registry and probes, logs, health."""
