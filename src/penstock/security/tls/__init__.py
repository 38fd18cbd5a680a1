"""TLS of servers: contexts by policy, certificates that change while a node runs, principals of clients. No sockets."""
