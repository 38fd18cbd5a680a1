"""Messages on their way to the dead-letter topic. Their offsets are done when they are on disk there."""

from __future__ import annotations

import logging

from penstock.broker.subscriptions.desk import Desk
from penstock.broker.subscriptions.progress import Progress
from penstock.broker.subscriptions.redelivery import Dead
from penstock.broker.subscriptions.supply import STUCK_MS, Supply
from penstock.model.errors import KafkaError

log = logging.getLogger(__name__)


class Burials:
    __slots__ = ("_desk", "_redelivery", "_supply")

    def __init__(self, desk: Desk, supply: Supply) -> None:
        self._desk = desk
        self._redelivery = desk.core.redelivery
        self._supply = supply

    def begin(self) -> None:
        for dead in self._redelivery.take_dead():
            self._desk.background.start(self._bury(dead, self._desk.core.progress[dead.partition]))

    async def _bury(self, dead: Dead, progress: Progress) -> None:
        desk = self._desk
        found = await self._supply.find(dead.partition, [dead.offset])
        if found is None:
            self._redelivery.revive(dead, desk.now_ms + STUCK_MS)
            return
        if desk.core.progress.get(dead.partition) is not progress:
            return  # it was set back meanwhile
        try:
            if found.messages:
                await desk.surroundings.undertaker.bury(desk, dead, found)
        except KafkaError as error:
            log.error("%s: offset %d cannot be put into the dead-letter topic: %r", desk.name, dead.offset, error)
            self._redelivery.revive(dead, desk.now_ms + STUCK_MS)
        else:
            desk.core.state.tally.dead += len(found.messages)
            desk.core.state.tally.expired += found.expired
            self._redelivery.gone(dead.partition, dead.offset)
        desk.wake()
