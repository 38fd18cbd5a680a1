"""What live subscriptions find around them: connections, the dead-letter topic, the clock, the queue of pumps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.broker.delivery.core.redelivery import Dead
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.scheduler import Pumps
from penstock.model.errors import KafkaError
from penstock.observability.timings import Timings
from penstock.runtime.clock import Clock

if TYPE_CHECKING:
    from penstock.broker.delivery.desk import Desk
    from penstock.broker.delivery.live_subscription import LiveSubscription


class Sink(Protocol):
    """The connection of a member."""

    def send(self, data: bytes) -> None: ...
    def evict(self, reason: str) -> None: ...


class Undertaker(Protocol):
    """Puts messages (encoded items) into the dead-letter topic, and says of each why that was not possible."""

    async def bury(
        self, desk: Desk, letters: Sequence[tuple[Dead, bytes]]
    ) -> Sequence[tuple[Dead, KafkaError | None]]: ...


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """What all live subscriptions of a node share."""

    rules: Rules
    clock: Clock
    pumps: Pumps
    commit_soon: Callable[[LiveSubscription], None]
    refreshed: Callable[[LiveSubscription], None]
    undertaker: Undertaker
    latency: Timings
