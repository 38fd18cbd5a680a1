"""Users and their credentials: the table, and how a password becomes a SCRAM credential. No I/O."""
