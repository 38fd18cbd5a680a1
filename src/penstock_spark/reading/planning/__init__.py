"""Which offsets of which partitions: plain values, and the few questions to the broker that they need."""
