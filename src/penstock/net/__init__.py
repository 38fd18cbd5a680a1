"""asyncio adapters: listener, connection, flow control."""
