"""Topics, partitions (log + role) and the metadata that describes them."""
