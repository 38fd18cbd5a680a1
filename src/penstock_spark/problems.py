"""Mistakes that a user of the source can make or run into. Messages say what to do."""

from __future__ import annotations


class BadOption(ValueError):
    """An option, or a combination of them, that makes no sense."""


class DataLost(Exception):
    """Records that were asked for are not there any more: aged out, deleted, or the topic was made anew."""


class BadRow(ValueError):
    """A row, or a frame, that cannot be written as records; or a record that does not fit the table it is read as."""


class OutputChanged(Exception):
    """A task that runs again has another output than before, which was written already."""
