"""What a client of another project is asked to do at a secured broker, whichever client it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.support.secured_broker import SecuredBroker

DEADLINE_S = 120.0


@dataclass(frozen=True)
class Door:
    """A listener, and how one comes in there."""

    broker: SecuredBroker
    listener: str
    mechanism: str | None = None
    user: str = "bob"

    @property
    def address(self) -> str:
        return self.broker.address(self.listener)

    @property
    def properties(self) -> dict[str, str]:
        """Under librdkafka's names."""
        return self.broker.properties(self.listener, self.mechanism, self.user)

    @property
    def java_properties(self) -> dict[str, str]:
        return self.broker.java_properties(self.listener, self.mechanism, self.user)


class Exchanged(NamedTuple):
    """What came back, and the client's own error for a topic that it may not write to."""

    found: list[str]
    refusal: str


class Streamed(NamedTuple):
    """The messages that were acknowledged, and those that the client's consumer got meanwhile and afterwards."""

    sent: list[str]
    found: list[str]


class SecuredClient(ABC):
    """Topics have one partition. Producers wait for all replicas, and are idempotent; consumers are in a group."""

    name: str
    denied: str
    """The client's error for a topic without a right."""
    distrusts: tuple[str, str]
    """Words of its errors for a certificate of an unknown authority, and for one of another host."""
    logs_in_again: bool = True
    """Whether it logs in on the connection before its session ends; others connect again when it is closed."""

    @abstractmethod
    def exchange(self, door: Door, topic: str, closed: str, group: str, values: Sequence[str]) -> Exchanged:
        """Write the values, read as many in the group, and try to write one to the other topic."""

    @abstractmethod
    def distrust(self, door: Door) -> str:
        """The error of an attempt to connect."""

    @abstractmethod
    def stream(self, door: Door, topic: str, group: str, seconds: float) -> Streamed:
        """Write numbers, one after the other, while a consumer reads them, for that time after the first is read."""
