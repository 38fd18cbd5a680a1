"""Handlers of APIs that write, read and delete records."""
