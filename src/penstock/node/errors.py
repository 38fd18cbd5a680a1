"""Why a node does not start, in words for the person who started it."""

from __future__ import annotations


class StartError(Exception):
    """The message says what is wrong and what to do; the command line prints it on one line and exits with 1."""
