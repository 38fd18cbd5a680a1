"""The arguments of a piece of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.meter import Meter
from bench.pump import Lane
from bench.reader import Reader
from bench.spread import Figures
from bench.wire import Address, Connect, Wire, create_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A broker's address, how long to measure it, and how long to warm it up first: a JVM needs seconds of that."""

    address: Address
    seconds: float
    warm_up: float
    meter: Meter
    connections: int = 10_000
    """Of the work that is about many of them."""
    connect: Connect = Wire

    def create_topic(self, name: str) -> None:
        create_topic(self.address, name, connect=self.connect)

    def lane(self, topic: str, frames: Sequence[bytes], in_flight: int = 1) -> Lane:
        return Lane(self.address, topic, frames, in_flight, connect=self.connect)

    def reader(self, topic: str, batch_messages: int) -> Reader:
        return Reader(self.address, topic, batch_messages, connect=self.connect)


Work = Callable[[Run], Figures]
