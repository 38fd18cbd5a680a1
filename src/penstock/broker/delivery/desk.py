"""What the parts of one live subscription share."""

from __future__ import annotations

from collections.abc import Callable

from penstock.broker.delivery.background import Background
from penstock.broker.delivery.core.subscription import Core
from penstock.broker.delivery.surroundings import Surroundings


class Desk:
    """`wake` asks for a turn of the pump."""

    __slots__ = ("background", "core", "name", "surroundings", "topic", "wake")

    def __init__(self, name: str, topic: str, core: Core, surroundings: Surroundings, wake: Callable[[], None]) -> None:
        self.name = name
        self.topic = topic
        self.core = core
        self.surroundings = surroundings
        self.background = Background()
        self.wake = wake

    @property
    def now_ms(self) -> int:
        return self.surroundings.clock.monotonic_ms()

    def stop(self) -> None:
        """Nothing refers to the subscription afterwards: it goes without a search for cyclic garbage."""
        self.background.cancel()
        self.wake = _nothing


def _nothing() -> None:
    pass
