"""Logins with SASL: the machines of `security.sasl`, driven on the event loop."""
