"""Admission of connections: one count for all doors of a node."""
