"""Events of a client's core for its subscriptions, and the targets that receive them.

A membership is made with its target; the core returns it with every event.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.client.push.memberships import Membership
from penstock.client.push.message import Message
from penstock.protocol.push.messages import Reset


class Target(Protocol):
    """The receiver of a subscription's messages. The driver calls it as they arrive: it must not block."""

    def deliver(self, messages: list[Message]) -> None: ...

    def reset(self, reset: Reset) -> None: ...

    def lost(self, error: Exception) -> None:
        """Called when the subscription could not be joined again: no more messages will come."""


class Delivered(NamedTuple):
    """Messages that came together, in their order."""

    membership: Membership
    messages: list[Message]


class Refreshed(NamedTuple):
    """RESET: rebuild the data, and answer READY with the refresh id once at or past the ends."""

    membership: Membership
    reset: Reset


class Lost(NamedTuple):
    """A subscription that could not be joined again."""

    membership: Membership
    error: Exception


Event = Delivered | Refreshed | Lost


def dispatch(event: Event) -> None:
    """Pass an event on to the target of its subscription."""
    target: Target = event.membership.target
    match event:
        case Delivered(messages=messages):
            target.deliver(messages)
        case Refreshed(reset=reset):
            target.reset(reset)
        case Lost(error=error):
            target.lost(error)
