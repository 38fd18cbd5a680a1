"""Errors of a job. Every message says what is wrong, `hint` what to do about it."""

from __future__ import annotations

from penstock.model.counted import with_hint


class BulkError(Exception):
    """A job that cannot continue. Everything that it did before stays done."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(with_hint(message, hint))
        self.message, self.hint = message, hint


class Missing(BulkError):
    """A file, table, column, topic or archive that is not there."""


class Unfit(BulkError):
    """Settings that make no sense, or not for this source."""


class BadRow(BulkError):
    """A row that cannot be loaded. Nothing of its transaction is visible."""


class Changed(BulkError):
    """The source, the topic or the settings are not those that the job began with."""


class Replaced(BulkError):
    """Another run of the same job has taken over, or this one slept for too long."""


class Damaged(BulkError):
    """Stored data that is not what it was."""
