"""Printing of pushed messages until Ctrl-C, `kill`, enough messages, or a closed pipe."""

from __future__ import annotations

import signal
import sys
import threading
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from penstock.cli.kafka.message_text import shown, text_fields
from penstock.cli.terminal.errors import CommandError
from penstock.cli.terminal.output import json_text, write_text

if TYPE_CHECKING:
    from penstock.client.push.client import BrokerClient
    from penstock.client.push.message import Message

POLL_S = 0.5


class Shape(StrEnum):
    TEXT = "text"
    JSON = "json"


def listen(client: BrokerClient, name: str, *, count: int | None, verbose: bool, shape: Shape) -> None:
    """Join a subscription and print; the message at hand is still printed and acknowledged before leaving."""
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: enough.set())
    printer = _Printer(count, verbose, shape, enough)
    client.subscribe_to_subscription(name, printer.print)
    while not enough.wait(POLL_S):
        if not client.is_subscribed(name):
            raise _lost(client, name)
    if client.is_subscribed(name):
        client.unsubscribe_from_subscription(name)
    sys.stdout.flush()


def _lost(client: BrokerClient, name: str) -> CommandError:
    from penstock.client.push.errors import UnknownSubscription

    reason = client.lost_subscription(name)
    if reason is None or isinstance(reason, UnknownSubscription):
        return CommandError(f"subscription {name} was deleted meanwhile")
    return CommandError(f"subscription {name} is lost: {reason}")


class _Printer:
    def __init__(self, count: int | None, verbose: bool, shape: Shape, enough: threading.Event) -> None:
        self._left = count
        self._verbose = verbose
        self._shape = shape
        self._enough = enough

    def print(self, message: Message) -> None:
        """Print a message; NotDone if it was not printed, so that it is not acknowledged."""
        from penstock.client.push.errors import NotDone

        if self._enough.is_set():
            raise NotDone
        try:
            write_text(self._line(message))
            sys.stdout.flush()
        except BrokenPipeError:
            self._enough.set()
            raise NotDone from None
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self._enough.set()

    def _line(self, message: Message) -> str:
        if self._shape is Shape.JSON:
            return json_text(to_json(message))
        return to_text(message) if self._verbose else shown(message.body) or ""


def to_json(message: Message) -> dict[str, Any]:
    """Return a message with the members of `penstock consume --output json`."""
    document: dict[str, Any] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.sequence_number,
        "timestamp": message.timestamp,
        "delivery": message.delivery_count,
        **text_fields("key", message.key),
        **text_fields("value", message.body),
    }
    if message.headers:
        document["headers"] = [[shown(name), shown(value)] for name, value in message.headers]
    return document


def to_text(message: Message) -> str:
    properties = ",".join(f"{shown(name)}={shown(value)}" for name, value in message.headers)
    parts = [f"{message.topic}-{message.partition}@{message.sequence_number}", f"time={message.timestamp}"]
    parts += [f"key={shown(message.key)}"] if message.key is not None else []
    parts += [f"properties={properties}"] if properties else []
    return " ".join([*parts, "body=null" if message.body is None else f"body={shown(message.body)}"])
