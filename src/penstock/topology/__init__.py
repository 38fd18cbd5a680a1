"""The hierarchy of brokers: the registry that knows all nodes, and what a node knows of its place among them."""
