"""Use cases that several doors share: they take a session and plain values, authorize, and act."""
