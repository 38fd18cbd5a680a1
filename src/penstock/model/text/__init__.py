"""Text that comes from people and from other machines: what is accepted, and how it is shown."""
