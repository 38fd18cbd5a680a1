"""Errors of the data source, with messages that say what to do."""

from __future__ import annotations

from penstock.client.connection import BrokerUnavailable
from penstock.model.errors import KafkaError


class BadOption(ValueError):
    """An option, or a combination of them, that is wrong."""


class DataLost(Exception):
    """Requested records that no longer exist: they aged out or were deleted, or their topic was created again."""


class HeldBack(Exception):
    """Requested records that are there but not committed: a transaction is open for longer than a query waits."""


class BadRow(ValueError):
    """A row or frame that cannot be written as records, or a record that does not fit the table it is read into."""


class OutputChanged(Exception):
    """A repeated task whose output differs from the one that was already written."""


class AccessRefused(Exception):
    """A broker that does not let us in, that is not trusted, or that denies a right; the message names the remedy."""


class NotReached(BrokerUnavailable):
    """A broker that cannot be reached; the message names the option to look at."""


class NotThere(KafkaError):
    """A topic or partition that was named and does not exist; the message names the option to look at."""


EXPLAINED = (BadOption, DataLost, HeldBack, BadRow, OutputChanged, AccessRefused, NotReached, NotThere)
"""Errors whose text is all that a user needs."""
