"""A package of somebody else: one storage engine, one network and one pipe connector, found by entry points."""
