"""Mirrors that were reset, whose readers are to be notified once the mirror is complete again.

Kept in the metadata store, so that a node that dies between the two still notifies them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

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
        self._begun: set[str] = set()  # mirrors that were reset after their readers were last notified

    @property
    def pending(self) -> list[str]:
        return self._configs.configured(SCOPE)

    async def begin(self, name: str) -> None:
        """Store that a mirror is being reset; durable before the mirror is dropped."""
        self._begun.add(name)
        await self._configs.alter(SCOPE, name, lambda _: {KEY: "true"})

    async def tell(self, complete: Iterable[str]) -> None:
        """Notify the readers of pending mirrors that are complete.

        A mirror that is reset again meanwhile stays pending: its readers are notified again.
        """
        names = sorted(set(self.pending).intersection(complete))
        if not names:
            return
        self._begun.difference_update(names)
        for listener in self._listeners:
            await listener(names)
        for name in names:
            # Decided when the change is made: a reset may come while it waits for its turn.
            await self._configs.alter(SCOPE, name, partial(self._without_told, name))

    def _without_told(self, name: str, before: Mapping[str, str]) -> dict[str, str]:
        return dict(before) if name in self._begun else {}


def is_complete(follower: PipeFollower, topic_id: bytes, *, nothing_came: bool) -> bool:
    """Whether a mirror has everything that the parent had at its last answer.

    Where the parent has not reported its ends, an answer without records means that it is complete.
    """
    followed = [one for place, one in follower.partitions.items() if place.topic == topic_id]
    return bool(followed) and all(
        one.lag == 0 and (one.high_watermark >= 0 or nothing_came) and not one.ask_again_ms for one in followed
    )
