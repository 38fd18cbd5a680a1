"""Connections and requests of clients that mean no good, at every door of a real node."""
