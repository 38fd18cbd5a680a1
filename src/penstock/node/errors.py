"""The error of a node that cannot start, with a message for the user."""

from __future__ import annotations


class StartError(Exception):
    """The message says what is wrong and what to do.

    The command line prints it and exits with 1, or with 2 for a SettingsError.
    """


class SettingsError(StartError):
    """Settings that do not fit together, or that would leave the node open to strangers."""
