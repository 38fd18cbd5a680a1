"""Child processes of commands, and the HTTP port of a node."""
