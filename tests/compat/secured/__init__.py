"""Real clients at a secured broker: every client at every kind of listener."""
