"""Reading for clients: fetch sessions, and the read of one partition."""
