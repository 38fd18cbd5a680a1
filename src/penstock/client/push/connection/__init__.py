"""The connection of a push client: its wire for threads and on asyncio, its socket, plain or under TLS."""
