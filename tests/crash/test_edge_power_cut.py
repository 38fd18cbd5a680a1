"""The power fails at any change of a run of the consumer application's store: what was acknowledged is there, once.

The run delivers messages again and out of order, and refreshes in between; the index is never on the disk that is cut.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from penstock.edge.generation import Generation
from penstock.edge.messages import Incoming
from penstock.edge.store import FOREVER, Store, take_over
from penstock.storage.data_directory import DataDirectory
from penstock.storage.engine.context import EngineContext
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.observer import SilentObserver
from penstock.testing.clock import ManualClock
from penstock.testing.faulty_files import FaultyFiles
from penstock.testing.inline_worker import InlineWorker
from penstock.testing.power_cut import CutDisk, Mode
from tests.crash.workload import RecordedMetadata
from tests.support.edge_store import SMALL, TOPIC, contents, message, opened, places

pytestmark = [pytest.mark.crash, pytest.mark.feature("P-13")]
STEPS = 40
Place = tuple[int, int]


@pytest.fixture
def scratch() -> Iterator[Path]:
    shared = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield root
    shutil.rmtree(root)


class Run:
    """A store on recorded files, and a diary: after how many changes what was promised of which generation."""

    def __init__(self, root: Path, seed: int) -> None:
        root.mkdir()
        self._random = Random(seed)
        self.files = FaultyFiles(root)
        data = DataDirectory(self.files, root)
        data.create()
        data.adopt()
        self._engine = DiskEngine(
            data,
            RecordedMetadata(self.files),
            SMALL,
            EngineContext(
                clock=ManualClock(), worker=InlineWorker(), disk_thread=InlineWorker(), observer=SilentObserver()
            ),
        )
        self.promised: dict[int, list[tuple[int, frozenset[Place]]]] = defaultdict(list)
        self.active: list[tuple[int, int]] = []
        self._acknowledged: dict[int, set[Place]] = defaultdict(set)
        self._ids = 0

    async def run(self) -> None:
        store = Store(
            self._engine, self.files, take_over(self._engine, self.files, TOPIC, FOREVER), FOREVER, ManualClock()
        )
        await store.start()
        self._note(store)
        for _ in range(STEPS):
            await self._step(store)
            self._note(store)
        await store.close()

    async def _step(self, store: Store) -> None:
        choice = self._random.random()
        if choice < 0.1 and store.state.refresh is None:
            self._ids += 1
            await store.begin_refresh(self._ids, {0: 5})
        elif choice < 0.3 and store.is_refreshed():
            await store.complete_refresh()
        else:
            delivered = self._delivery()
            await store.store(delivered)
            self._acknowledged[store.target.identity.number] |= {tuple(each.place) for each in delivered}  # type: ignore[misc]

    def _delivery(self) -> list[Incoming]:
        chosen = [(self._random.randrange(2), self._random.randrange(40)) for _ in range(self._random.randrange(1, 8))]
        return [message(offset, partition) for partition, offset in chosen]

    def _note(self, store: Store) -> None:
        count = len(self.files.changes)
        self.active.append((count, store.active.identity.number))
        for number, acknowledged in self._acknowledged.items():
            self.promised[number].append((count, frozenset(acknowledged)))

    def promised_at(self, count: int, generation: int) -> frozenset[Place]:
        """The diary is written after a promise, so what it says at `count` was promised by then."""
        return next((places for at, places in reversed(self.promised[generation]) if at <= count), frozenset())


async def check_image(image: Path, run: Run, count: int) -> None:
    async with opened(image) as store:
        numbers = [number for at, number in run.active if at <= count]
        assert (
            store.active.identity.number in (numbers[-1:] or [1])
            or store.active.identity.number in [number for at, number in run.active if at > count][:1]
        )
        for generation in {store.active, store.target}:
            check_generation(generation, run, count)
        everything = [message(offset, partition) for partition in range(2) for offset in range(40)]
        await store.store(everything)
        assert sorted(places(store.target)) == sorted((partition, n) for partition in range(2) for n in range(40))


def check_generation(generation: Generation, run: Run, count: int) -> None:
    found = contents(generation)
    seen = [tuple(each.place) for each in found]
    assert len(seen) == len(set(seen)), f"stored twice: {seen}"
    missing = run.promised_at(count, generation.identity.number) - set(seen)
    assert not missing, f"acknowledged and lost: {missing}"
    assert all(Incoming(*each[1:]) == message(each.place.offset, each.place.partition) for each in found)


def check_cuts(scratch: Path, seed: int, every: int) -> int:
    """The number of the generation that the run ended with."""
    run = Run(scratch / "run", seed)
    asyncio.run(run.run())
    disk, random, cuts = CutDisk(), Random(seed), 0
    begins = run.active[0][0]  # before that there is nothing to lose
    for count, change in enumerate(run.files.changes, 1):
        disk.advance(change)
        if count < begins or (count + seed) % every:
            continue
        mode = random.choice(list(Mode))
        image = scratch / "image"
        image.mkdir()
        disk.write_image(image, mode, random)
        try:
            asyncio.run(check_image(image, run, count))
        except BaseException as error:
            error.add_note(f"seed {seed}, cut after change {count} ({change.kind} {change.path}), {mode}")
            raise
        shutil.rmtree(image)
        cuts += 1
    assert cuts > 5
    return run.active[-1][1]


def test_what_was_acknowledged_survives_a_power_cut(scratch: Path) -> None:
    assert check_cuts(scratch, 3, 12) > 1, "a run without a refresh says nothing about them"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_at_every_change(scratch: Path, seed: int) -> None:
    check_cuts(scratch, seed, 1)
