"""Clients in great number, of bad manners, or all at once, and what the others notice of them: `make load`."""
