"""Shipped fakes of the world (clock, files that fail or forget, strategies) and the consistency checker."""
