"""The node as strangers see it: a scanner of TLS, and a real browser on pages of others."""
