"""Logins over real sockets: every step, right and wrong, and the clients that people use."""
