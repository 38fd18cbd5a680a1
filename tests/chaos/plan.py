"""The plan of a run: topics, clients, faults and minimum counts. The seed decides the rest.

Faults are dealt like cards from a deck that is shuffled again and again, so that every kind comes up in every stretch
of time and none at a moment that can be foreseen.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from penstock.testing.consistency.history import Partition

TOPICS: Final = {"chaos-a": 2, "chaos-b": 3}
PARTITIONS: Final = tuple(Partition(topic, index) for topic, count in TOPICS.items() for index in range(count))
KEYS: Final = tuple(f"key-{number}" for number in range(11))
OFFSETS_PARTITION: Final = PARTITIONS[0]
WRITES_MAX: Final = 4
ABORT_SHARE: Final = 0.25
OFFSET_SHARE: Final = 0.4
OFFSETS_A_LIFE: Final = 1_000_000
"""Each life of a client commits offsets above those of the lives before."""
TRANSACTION_TIMEOUT_MS: Final = 10_000
PLAIN_GROUP: Final = "chaos-plain"


def partition_of(key: str) -> Partition:
    return PARTITIONS[KEYS.index(key) % len(PARTITIONS)]


class Role(enum.StrEnum):
    CONFLUENT = "confluent"
    AIO = "aiokafka"
    JAVA = "java"
    FRAMES = "frames"
    PLAIN = "plain"
    READER_COMMITTED = "reader-committed"
    READER_UNCOMMITTED = "reader-uncommitted"
    MEMBER = "member"
    WATCHER = "watcher"


TRANSACTIONAL: Final = (Role.CONFLUENT, Role.AIO, Role.JAVA, Role.FRAMES)
LONG_CREW: Final = (
    *(Role.CONFLUENT, Role.CONFLUENT, Role.AIO, Role.JAVA, Role.FRAMES, Role.FRAMES, Role.PLAIN),
    *(Role.READER_COMMITTED, Role.READER_UNCOMMITTED, Role.MEMBER, Role.MEMBER, Role.WATCHER),
)
SHORT_CREW: Final = (
    *(Role.CONFLUENT, Role.AIO, Role.JAVA, Role.FRAMES, Role.PLAIN),
    *(Role.READER_COMMITTED, Role.READER_UNCOMMITTED, Role.WATCHER),
)


class Fault(enum.StrEnum):
    KILL_BROKER = "kill -9 of the broker"
    STOP_BROKER = "broker stopped for a while"
    RESTART_BROKER = "restart of the broker"
    FAIL_FLUSH = "flush that fails"
    KILL_CLIENT = "kill -9 of a client"
    STOP_CLIENT = "client stopped for a while"
    PREPARED = "kill between prepare record and first marker"
    MARKER = "kill between two markers"
    MARKED = "kill between last marker and complete record"


WINDOWS: Final = {Fault.PREPARED: "prepared", Fault.MARKER: "marker", Fault.MARKED: "marked"}
OF_PENSTOCK: Final = (*WINDOWS, Fault.FAIL_FLUSH)
"""Faults that need hooks or knowledge of its files; a control goes without."""
TOO_MUCH_FOR_KAFKA: Final = (*OF_PENSTOCK, Fault.KILL_BROKER, Fault.RESTART_BROKER)
"""Apache Kafka 4.3 as a single node loses committed transactions when it stops, by SIGTERM or kill -9, between the
prepare record and the markers. Partitions have no leader then, on the way down and on the way up; its coordinator takes
them for deleted ("these partitions are likely deleted already and hence can be skipped") and completes the transaction
without their markers, and a later abort of the same producer covers the records. The checker finds it, so a control
that shall find nothing goes without."""
DECK: Final = (
    *(Fault.KILL_BROKER,) * 4,
    *(Fault.STOP_BROKER,) * 2,
    *(Fault.KILL_CLIENT,) * 2,
    *(Fault.STOP_CLIENT,) * 2,
    Fault.RESTART_BROKER,
    Fault.FAIL_FLUSH,
    *WINDOWS,
)


class Planned(NamedTuple):
    rest: float  # seconds of peace before it
    fault: Fault
    client: int  # which one, counted round the crew
    seconds: float  # how long it lasts, where it lasts


REST_SECONDS: Final = (3.0, 7.0)
SHORT_REST_SECONDS: Final = (0.5, 1.5)


def kinds(without: tuple[Fault, ...] = ()) -> list[Fault]:
    return [fault for fault in Fault if fault not in without]


def faults(
    random: Random, without: tuple[Fault, ...] = (), rest: tuple[float, float] = REST_SECONDS
) -> Iterator[Planned]:
    """Without end. The first deck has one of each kind, for transactional clients, so that short runs have all."""
    deck = kinds(without)
    clients = min(map(_transactional_first, (LONG_CREW, SHORT_CREW)))
    random.shuffle(deck)
    while True:
        if not deck:
            deck = [fault for fault in DECK if fault not in without]
            clients = 1000
            random.shuffle(deck)
        fault = deck.pop()
        lasts = random.uniform(0.5, 4.0)
        if fault is Fault.STOP_CLIENT and random.random() < 0.5:
            lasts = TRANSACTION_TIMEOUT_MS / 1000 * random.uniform(0.9, 1.3)  # its transaction may time out
        yield Planned(random.uniform(*rest), fault, random.randrange(clients), lasts)


def _transactional_first(crew: tuple[Role, ...]) -> int:
    """How many transactional clients stand at the head of a crew."""
    return next(place for place, role in enumerate(crew) if role not in TRANSACTIONAL)


@dataclass(frozen=True, slots=True)
class Minimum:
    """The minimum counts of a run, by its length; a run with less proves nothing."""

    committed: int
    aborted: int
    kills: int
    each: int = 1
    """Of every kind of fault."""

    @classmethod
    def of(cls, seconds: float) -> Minimum:
        share = seconds / 600
        each = max(1, math.floor(3 * share))
        return cls(math.ceil(1000 * share), math.ceil(200 * share), math.floor(20 * share), each)

    def shortages(self, counts: Mapping[str, int], without: tuple[Fault, ...] = ()) -> list[str]:
        """The counts that are below their minimum, by name."""
        wanted = {"transactions committed": self.committed, "transactions aborted": self.aborted}
        if Fault.KILL_BROKER not in without:
            wanted["kills of the broker"] = self.kills
        wanted |= {str(fault): self.each for fault in kinds(without)}
        return [
            f"{name}: {counts.get(name, 0)} of {least}" for name, least in wanted.items() if counts.get(name, 0) < least
        ]
