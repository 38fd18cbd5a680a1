"""Who asks, and what a session may do: principals, sessions, authenticators and authorizers. No I/O."""
