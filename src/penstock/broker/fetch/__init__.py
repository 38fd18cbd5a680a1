"""Reading for clients: fetch sessions and what is read of one partition."""
