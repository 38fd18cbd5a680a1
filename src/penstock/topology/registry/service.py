"""The hierarchy with its clock and its disk: one request at a time, and no answer before its changes are stored.

If storing fails, the client gets an error and tries again later, and the changes are stored with the next ones: no
request is answered before.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from penstock.runtime.clock import Clock
from penstock.topology.model import Topology
from penstock.topology.registry.errors import Refusal
from penstock.topology.registry.hierarchy import MISSED_POLLS, NODES_MAX, Hierarchy
from penstock.topology.registry.member import ANYBODY, Asker, Member, Registration
from penstock.topology.registry.store import RegistryStore

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
TICK_MS_MAX = 1_000


class NotStored(Exception):
    """The disk refused to store a change; the change takes effect when storing succeeds."""


class RegistryService:
    """Owner of the hierarchy, which other parts may read. `requests` counts by kind and outcome."""

    def __init__(
        self, store: RegistryStore, clock: Clock, *, missed_polls: int = MISSED_POLLS, nodes_max: int = NODES_MAX
    ) -> None:
        self.registry_id = store.registry_id
        self.requests: Counter[tuple[str, str]] = Counter()
        self.problem: str | None = None
        """The reason why the last change is not stored; None if it is."""
        self._store = store
        self._clock = clock
        self.hierarchy = Hierarchy(missed_polls=missed_polls, nodes_max=nodes_max)
        self.hierarchy.load(store.members(), store.version, clock.monotonic_ms())
        self._turn = asyncio.Lock()
        self._disk = ThreadPoolExecutor(1, "penstock-registry")
        self._ticking: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._ticking = asyncio.get_running_loop().create_task(self._tick(), name="registry")

    async def stop(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
        async with self._turn:
            self._disk.shutdown()

    def silent_ms(self, member: Member) -> int:
        """Time since a node's last request, as far as this process knows."""
        return max(0, self._clock.monotonic_ms() - member.last_poll_ms)

    async def register(self, registration: Registration, asker: Asker = ANYBODY) -> Topology:
        topology = await self._ask("register", lambda core, now: core.register(registration, now, asker))
        logger.info(
            "registered", extra={"node": topology.node_id, "role": topology.role, "parent": topology.parent_url}
        )
        return topology

    async def poll(self, node_id: str, instance_id: str | None, asker: Asker = ANYBODY) -> Topology:
        return await self._ask("poll", lambda core, now: core.poll(node_id, instance_id, now, asker))

    async def set_parent(self, node_id: str, parent_id: str | None) -> Member:
        def change(core: Hierarchy, _: int) -> Member:
            core.set_parent(node_id, parent_id)
            return core.find(node_id)

        member = await self._ask("set_parent", change)
        logger.info("parent set by hand", extra={"node": node_id, "parent": parent_id or "by the rules"})
        return member

    async def remove(self, node_id: str) -> None:
        await self._ask("remove", lambda core, _: core.remove(node_id))
        logger.info("removed", extra={"node": node_id})

    async def _ask(self, what: str, work: Callable[[Hierarchy, int], Result]) -> Result:
        async with self._turn:
            try:
                result = work(self.hierarchy, self._clock.monotonic_ms())
                await self._save()
            except Refusal:
                self.requests[what, "refused"] += 1
                raise
            except NotStored:
                self.requests[what, "failed"] += 1
                raise
            self.requests[what, "ok"] += 1
            return result

    async def _save(self) -> None:
        changes = self.hierarchy.changes()
        if changes is None:
            return
        saving = asyncio.get_running_loop().run_in_executor(self._disk, self._store.save, changes)
        await asyncio.wait([saving])  # even if the client disconnects: the next request waits for the disk
        error = saving.exception()
        self.problem = str(error) if error is not None else None
        if error is not None:
            self.hierarchy.put_back(changes)
            logger.error("not stored, it is tried again: %s", error)
            raise NotStored(str(error)) from error

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._tick_ms() / 1000)
            try:
                async with self._turn:
                    await self._advance()
            except NotStored:
                pass  # logged
            except Exception:
                logger.exception("looking for silent nodes failed, it is tried again")

    async def _advance(self) -> None:
        members = self.hierarchy.members
        before = {node_id: (member.live, member.parent) for node_id, member in members.items()}
        self.hierarchy.advance(self._clock.monotonic_ms())
        for node_id, (was_live, parent) in before.items():
            member = members[node_id]
            if was_live and not member.live:
                logger.warning("node is silent", extra={"node": node_id})
            if member.parent != parent:
                logger.info("new parent", extra={"node": node_id, "parent": member.parent, "instead_of": parent})
        await self._save()

    def _tick_ms(self) -> float:
        """Pause between two checks, well below the shortest interval at which a node polls."""
        intervals = (member.poll_interval_ms / 4 for member in self.hierarchy.members.values())
        return min(TICK_MS_MAX, min(intervals, default=TICK_MS_MAX))
