"""The interface of a client with transactions for the workload, whatever its library.

Every call returns when it is done, or raises

    Trouble     the outcome is unknown; the client has to be replaced, or the transaction aborted
    Refused     the broker said no, once and for all
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.testing.consistency.history import Generation, Outcome

PATIENCE_SECONDS = 20.0
"""For one call: longer than a restart of the broker takes."""


class Trouble(Exception):
    """The outcome is unknown."""


class Refused(Exception):
    """It was not done and never will be."""


class Message(NamedTuple):
    topic: str
    partition_index: int
    key: str
    value: str


class Delivery(NamedTuple):
    outcome: Outcome
    offset: int = -1


class Settings(NamedTuple):
    bootstrap: str
    transactional_id: str
    group: str
    timeout_ms: int


class TransactionalClient(Protocol):
    generation: Generation

    def start(self) -> None:
        """Take over the transactional id: whatever was open under it is ended."""

    def begin(self) -> None: ...

    def send(self, messages: list[Message]) -> list[Delivery]:
        """All of them, and wait for all."""

    def send_offset(self, topic: str, partition_index: int, offset: int) -> None:
        """Commit an offset of the group with the transaction."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None:
        """Let go of it, whatever state it is in."""
