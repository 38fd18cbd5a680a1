"""The disk engine: every log of a data directory, opened on first use, and its maintenance."""
