"""Processes that commands start, and the node they ask."""
