"""The engine that keeps logs in memory, by the same rules as the disk engine."""
