"""Messages that may be what kills members: several have had them, and nobody has answered.

While there are such messages, members get one at a time. Otherwise everything that is in flight beside a message that
kills would be delivered as often as that, and go to the dead letters with it; and so would messages that only wait for
their turn with a handler that is too slow for its credit.
"""

from __future__ import annotations

from penstock.broker.delivery.core.dispatch import Dealing
from penstock.broker.delivery.core.state import State


class Suspects:
    __slots__ = ("_dealing", "_is_careful", "_state")

    def __init__(self, state: State, dealing: Dealing) -> None:
        self._state = state
        self._dealing = dealing
        self._is_careful = self._are_ahead()

    def look(self, now_ms: int) -> None:
        """Before anything is sent: how much members may have."""
        state = self._state
        while state.suspects and not self._is_suspect(*state.suspects[0]):
            state.suspects.popleft()
        careful = bool(state.suspects) or self._are_ahead()
        for member in state.members.values():
            credit = 1 if careful else member.full_credit
            if member.credit != credit:
                member.credit = credit
                self._dealing.has_room(member, now_ms)
        self._is_careful = careful

    @property
    def must_look(self) -> bool:
        return self._is_careful or bool(self._state.suspects)

    def _is_suspect(self, partition: int, offset: int) -> bool:
        state = self._state
        progress = state.progress.get(partition)
        flight = None if progress is None else progress.unacked.get(offset)
        return flight is not None and flight.losses >= state.rules.losses_max and (partition, offset) not in state.dead

    def _are_ahead(self) -> bool:
        """Among those that were sent before a restart: whether they were lost or given back is not known any more."""
        rules = self._state.rules
        return any(
            rules.losses_max <= counted.deliveries < rules.deliveries_max
            for progress in self._state.progress.values()
            for counted in progress.counted_ahead
        )
