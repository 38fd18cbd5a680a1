"""A third-party package: one storage engine, one network and one pipe connector, found by entry points."""
