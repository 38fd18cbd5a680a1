"""SASL without I/O: a machine for each mechanism, from the messages of a client to a user or a refusal."""
