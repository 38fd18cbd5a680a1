"""Consumers in the process of a node, and the metrics port of those on their own."""
