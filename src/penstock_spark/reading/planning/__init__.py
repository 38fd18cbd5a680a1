"""Planning of a read: offsets of partitions as plain values, and the few requests to the broker that they need."""
