"""Topics, partitions (log + role) and the metadata that says who owns what."""
