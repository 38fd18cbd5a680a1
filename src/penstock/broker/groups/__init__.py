"""Consumer groups: the classic protocol, offsets, and their log."""
