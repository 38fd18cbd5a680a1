"""Handlers of APIs for the cluster, its nodes and clients' telemetry."""
