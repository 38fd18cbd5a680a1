"""The handler module that CONSUMER_TYPE names: one of those that are built in, or of another package.

    [project.entry-points."penstock.edge"]
    orders = "shop.orders"                    a module with one class or function that is marked with @consumer

The marked class or function is called for each message when it is stored, with retries and dead letters as everywhere
in the consumer framework; topic and group are those of the application. A class may have two methods more: `stats()`,
whose dictionary is shown by /stats, and `restore(messages)`, called at the start and after a refresh with the last
stored message of each key.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

from penstock.client.push.message import Message
from penstock.consumers.definition import Definition
from penstock.consumers.discovery import discover
from penstock.consumers.errors import ConsumerError
from penstock.edge.messages import Stored
from penstock.protocol.push.properties import encode_properties

ENTRY_POINTS = "penstock.edge"
BUILT_IN = {"plain": "penstock.edge.plain", "price": "penstock.edge.price"}
CREDIT = 200
"""Messages that may be on their way: while some are being synced, others arrive. They are all in memory."""


class Handler:
    """One for the life of the application."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._owner = getattr(definition.call, "__self__", None)

    @property
    def can_restore(self) -> bool:
        return callable(getattr(self._owner, "restore", None))

    async def restore(self, messages: Sequence[Stored]) -> None:
        mark = self.definition.mark
        made = [as_message(message, mark.topic, mark.group) for message in messages]
        result = self._owner.restore(made)  # type: ignore[union-attr]
        if inspect.isawaitable(result):
            await result

    def stats(self) -> dict[str, Any]:
        tell = getattr(self._owner, "stats", None)
        return dict(tell()) if callable(tell) else {}


def find_handler(name: str, topic: str, group: str) -> Handler:
    """Load the handler.

    ConsumerError, with the types there are, for an unknown type, or for a problem with its module.
    """
    modules = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | BUILT_IN
    if name not in modules:
        raise ConsumerError(
            f"there is no consumer type {name}; there are {', '.join(sorted(modules))}, and packages add others by the"
            f" entry point {ENTRY_POINTS}"
        )
    found = discover([modules[name]])
    if len(found) != 1:
        names = ", ".join(definition.name for definition in found)
        raise ConsumerError(f"consumer type {name} ({modules[name]}) has {len(found)} consumers, {names}: keep one")
    (definition,) = found
    mark = replace(definition.mark, topic=topic, group=group, start="earliest", delivery="message", credit=CREDIT)
    return Handler(replace(definition, mark=mark))


def as_message(message: Stored, topic: str, group: str) -> Message:
    """Return the message as it came from the broker."""
    pairs = tuple((name.encode("utf-8", "surrogateescape"), value) for name, value in message.headers)
    return Message(
        group,
        topic,
        0,
        message.place.partition,
        1,
        message.key,
        message.place.offset,
        message.timestamp,
        encode_properties(pairs),
        message.body,
    )
