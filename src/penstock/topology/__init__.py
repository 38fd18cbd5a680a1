"""The hierarchy of brokers: the registry that knows all nodes, and a node's own view of its place in the hierarchy."""
