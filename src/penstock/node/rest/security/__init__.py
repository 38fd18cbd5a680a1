"""Routes about logins: tokens, and the sessions of browsers."""
