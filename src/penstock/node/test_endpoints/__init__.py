"""Endpoints for tests and trials, below /test on the HTTP port: only with `http.test_endpoints`, otherwise 404."""
