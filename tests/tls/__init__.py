"""TLS and listeners by name, from outside: real processes, clients and sockets."""
