"""Receivers of a subscription's messages. The core returns the one that a membership was made with."""

from __future__ import annotations

from typing import Protocol

from penstock.client.push.message import Message
from penstock.protocol.push.messages import Reset


class Target(Protocol):
    """A receiver. The driver calls it as messages arrive: it must not block."""

    def deliver(self, messages: list[Message]) -> None: ...

    def reset(self, reset: Reset) -> None: ...

    def lost(self, error: Exception) -> None:
        """Called when the subscription could not be joined again: no more messages will come."""
