"""The arguments of a piece of work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.meter import Meter
from bench.spread import Figures
from bench.wire import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A broker's address, how long to measure it, and how long to warm it up first: a JVM needs seconds of that."""

    address: Address
    seconds: float
    warm_up: float
    meter: Meter
    connections: int = 10_000
    """Of the work that is about many of them."""


Work = Callable[[Run], Figures]
