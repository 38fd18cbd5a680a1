"""The room for what members have been sent and do not read, over all push connections of a node.

A connection is sent a little before anybody asks (`core.dispatch.OUTGOING_BYTES_MAX`); a large message may be far more.
What a connection is full of counts as backlog (`net.flow_control`), as answers do that Kafka clients do not read. Where
the backlog has used up its room, large messages wait, but for one of each owner, principals as a rule, at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from penstock.net.flow_control import FlowControl

Wake = Callable[[], None]


class Unsent:
    """One for all push connections. Loop thread."""

    def __init__(self, flow: FlowControl) -> None:
        self._flow = flow
        self._held: dict[object, tuple[str, int]] = {}  # owner and bytes, by connection
        self._owners: Counter[str] = Counter()  # how many connections each has among them
        self._waiting: dict[Wake, frozenset[str]] = {}

    @property
    def is_crowded(self) -> bool:
        """Whether clients hold so much that those who do not read have to go."""
        return self._flow.exhausted

    def has_room(self, owners: Collection[str]) -> bool:
        """Whether a large message may be sent to a member of one of these owners."""
        return not self._flow.exhausted or any(not self._owners[owner] for owner in owners)

    def count(self, connection: object, owner: str, size: int) -> None:
        """Count what a connection is full of, 0 if it is not."""
        owner, before = self._held.pop(connection, (owner, 0))
        if size:
            self._held[connection] = (owner, size)
        self._owners[owner] += (size > 0) - (before > 0)
        self._flow.change(size - before)
        if before and not size:
            self._let_go(owner)

    def _let_go(self, owner: str) -> None:
        if self._owners[owner]:
            return
        del self._owners[owner]
        for wake in [wake for wake, owners in self._waiting.items() if owner in owners]:
            del self._waiting[wake]
            wake()

    def wait(self, wake: Wake, owners: Collection[str]) -> None:
        """Call `wake` once when there may be room for a member of these owners."""
        self._waiting[wake] = frozenset(owners)
        self._flow.wait_for_room(self._wake_all)

    def _wake_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for wake in waiting:
            wake()
