"""Composition root: builds everything in order, tears it down in reverse."""
