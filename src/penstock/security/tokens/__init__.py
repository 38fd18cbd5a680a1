"""Tokens: random words that stand for a principal, for programs that use HTTP."""
