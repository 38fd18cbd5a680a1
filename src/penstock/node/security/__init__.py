"""The security of a node, from its settings."""
