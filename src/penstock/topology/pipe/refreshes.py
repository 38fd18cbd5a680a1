"""Mirrors that were reset, whose readers are to be notified once the mirror is complete again.

Kept in the metadata store, so that a node that dies between the two still notifies them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from penstock.cluster.controller.configs_frontend import ConfigsFrontend
from penstock.topology.pipe.follower import PipeFollower

SCOPE, KEY = "pipe", "refresh"
OnReset = Callable[[Sequence[str]], Awaitable[None]]
"""Listener for topics that were reset and are complete again."""


class Refreshes:
    """Kept as configs of a scope of their own. Listeners are called in order, and again if one of them fails."""

    def __init__(self, configs: ConfigsFrontend, listeners: Sequence[OnReset] = ()) -> None:
        self._configs = configs
        self._listeners = tuple(listeners)

    @property
    def pending(self) -> list[str]:
        return self._configs.configured(SCOPE)

    async def begin(self, name: str) -> None:
        """Store that a mirror is being reset; durable before the mirror is dropped."""
        await self._configs.alter(SCOPE, name, lambda _: {KEY: "true"})

    async def tell(self, complete: Iterable[str]) -> None:
        """Notify the readers of pending mirrors that are complete."""
        names = sorted(set(self.pending).intersection(complete))
        if not names:
            return
        for listener in self._listeners:
            await listener(names)
        for name in names:
            await self._configs.alter(SCOPE, name, lambda _: {})


def is_complete(follower: PipeFollower, topic_id: bytes, *, nothing_came: bool) -> bool:
    """Whether a mirror has everything that the parent had at its last answer.

    Where the parent has not reported its ends, an answer without records means that it is complete.
    """
    followed = [one for place, one in follower.partitions.items() if place.topic == topic_id]
    return bool(followed) and all(
        one.lag == 0 and (one.high_watermark >= 0 or nothing_came) and not one.ask_again_ms for one in followed
    )
