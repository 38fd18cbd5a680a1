"""Handlers of rules, logins and the credentials of users."""
