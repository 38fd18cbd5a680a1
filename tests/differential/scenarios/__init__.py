"""Long scripts: groups, sessions, sequences, topics that come and go. Every module here is found by itself."""
