"""The log engine: segments, indexes, logs, recovery, retention, compaction, group commit. Synchronous; no asyncio."""
