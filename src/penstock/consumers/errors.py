"""Errors of consumers and of the messages that they are given."""

from __future__ import annotations


class ConsumerError(Exception):
    """A consumer that cannot be run as it is written; the message names the fix."""


class PayloadError(ValueError):
    """A message whose body does not fit its handler. It is not retried: that would not help."""
