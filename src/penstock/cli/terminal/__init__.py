"""Output of commands, and parsing of values that users type."""
