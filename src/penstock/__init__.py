"""Penstock: a Kafka-compatible streaming system.

One log engine holds Kafka record batches byte for byte as they travel on the wire, and every door of the
broker reads and writes the same partitions. The packages below are layers; imports only point down:

    testing > cli > node > gateways, edge, console > topology > broker > cluster > client > net
    > protocol, storage, security > config, runtime, observability > model

`lint-imports` checks that order. Nothing is imported here, so that `import penstock` costs nothing.
"""

__version__ = "0.1.0"
