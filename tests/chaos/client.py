"""`python -m tests.chaos.client JSON`: one client of the workload, until SIGTERM or the end of the run."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from penstock.testing.consistency.history import Isolation
from penstock.testing.consistency.history_file import Recorder
from tests.chaos.clients.aio import AioClient
from tests.chaos.clients.confluent import ConfluentClient
from tests.chaos.clients.frames import FramesClient
from tests.chaos.clients.java import JavaClient
from tests.chaos.clients.transactional import Settings, TransactionalClient
from tests.chaos.plan import OFFSETS_A_LIFE, TRANSACTION_TIMEOUT_MS, Role
from tests.chaos.readers import Member, Reader
from tests.chaos.transactor import Transactor
from tests.chaos.watchers import OffsetWatcher
from tests.chaos.writers import PlainWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The settings of a client. Its name stays the same over all of its restarts."""

    role: Role
    name: str
    life: int
    seed: int
    bootstrap: str
    directory: str
    groups: tuple[str, ...]
    pause_seconds: float

    @property
    def identity(self) -> str:
        return f"{self.name}.{self.life}"

    @property
    def classes(self) -> str:
        return f"{self.directory}/classes"

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def group_of(name: str) -> str:
    """Into which a transactional client commits offsets."""
    return f"group-of-{name}"


class Worker(Protocol):
    def run(self, leaving: Callable[[], bool]) -> None: ...


def make_worker(orders: Orders, recorder: Recorder, random: Random) -> Worker:
    match orders.role:
        case Role.PLAIN:
            return PlainWriter(orders.bootstrap, recorder, random, orders.pause_seconds)
        case Role.READER_COMMITTED:
            return Reader(orders.bootstrap, recorder, random, Isolation.COMMITTED)
        case Role.READER_UNCOMMITTED:
            return Reader(orders.bootstrap, recorder, random, Isolation.UNCOMMITTED)
        case Role.MEMBER:
            return Member(orders.bootstrap, recorder, random)
        case Role.WATCHER:
            return OffsetWatcher(orders.bootstrap, recorder, orders.groups, orders.life * OFFSETS_A_LIFE)
        case _:
            settings = Settings(orders.bootstrap, orders.name, group_of(orders.name), TRANSACTION_TIMEOUT_MS)
            return Transactor(
                lambda: make_transactional(orders, settings),
                settings,
                recorder,
                random,
                first_offset=orders.life * OFFSETS_A_LIFE,
                pause_seconds=orders.pause_seconds,
            )


def make_transactional(orders: Orders, settings: Settings) -> TransactionalClient:
    match orders.role:
        case Role.CONFLUENT:
            return ConfluentClient(settings)
        case Role.AIO:
            return AioClient(settings)
        case Role.JAVA:
            return JavaClient(settings, orders.classes)
        case _:
            return FramesClient(settings)


def main() -> None:
    given = json.loads(sys.argv[1])
    orders = Orders(**{**given, "role": Role(given["role"]), "groups": tuple(given["groups"])})
    left: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: left.append(True))
    parent = os.getppid()
    recorder = Recorder(Path(orders.directory) / f"{orders.identity}.jsonl", orders.identity)
    random = Random(f"{orders.seed} {orders.identity}")
    make_worker(orders, recorder, random).run(lambda: bool(left) or os.getppid() != parent)


if __name__ == "__main__":
    main()
