"""Use cases that several doors share. They take plain values, and know nothing of requests and answers."""
