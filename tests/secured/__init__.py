"""One node with every door protected."""
