"""Who sends an HTTP request: known by a certificate, a password or a token."""
