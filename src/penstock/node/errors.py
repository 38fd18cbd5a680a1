"""The error of a node that cannot start, with a message for the user."""

from __future__ import annotations


class StartError(Exception):
    """The message says what is wrong and what to do; the command line prints it on one line and exits with 1."""
