"""Errors of consumers and of the messages that they are given."""

from __future__ import annotations


class ConsumerError(Exception):
    """A consumer that cannot be run as it is written; the message names the fix."""


class PayloadError(ValueError):
    """A message whose body is not what its handler takes. It is not tried again: it will not get better."""
