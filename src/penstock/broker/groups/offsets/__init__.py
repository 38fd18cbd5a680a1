"""Committed offsets of groups of every type."""
