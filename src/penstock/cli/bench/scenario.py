"""A scenario: topics, and groups of producers and consumers that work on them at the same time.

This file defines the contents of a scenario; `cli.bench.file` reads one, `cli.bench.shapes` has rates, sizes and keys.
The options of `penstock bench` make a scenario of their own.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from penstock.cli.bench.shapes import Content, Keys, KeyShape, Rate, RateShape, Seconds, Shape, Size, SizeShape
from penstock.cli.kafka.produce import Compression
from penstock.config.settings import Bytes

GROUPS_MAX = 100
CONNECTIONS_MAX = 1000
PROCESSES_MAX = 64

Name = Annotated[str, Field(min_length=1, max_length=100)]
Connections = Annotated[int, Field(ge=1, le=CONNECTIONS_MAX)]
Processes = Annotated[int, Field(ge=1, le=PROCESSES_MAX)]


class Topic(Shape):
    """A topic; unless it exists, it is created for the run and deleted after it."""

    partitions: Annotated[int, Field(ge=1, le=100_000)] = 4
    replication_factor: Annotated[int, Field(ge=1, le=100)] = 1
    configs: dict[str, str | int | float | bool] = Field(default_factory=dict)

    def config_texts(self) -> dict[str, str]:
        return {
            key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in self.configs.items()
        }


class Group(Shape):
    """The common part of producers and consumers: name, topic, numbers of clients and processes, start and duration."""

    name: Name
    topic: Name
    connections: Connections = 1
    """Clients, each with connections of its own."""
    processes: Processes | None = None
    """Processes over which the clients are spread; by default one for each client, but at most 4."""
    start: Seconds = 0.0
    duration: Annotated[Seconds, Field(gt=0)] | None = None
    """Duration; by default until the end of the scenario."""

    @property
    def worker_count(self) -> int:
        return min(self.connections, self.processes or 4)

    def clients_of(self, worker: int) -> int:
        return len(range(worker, self.connections, self.worker_count))


class Producers(Group):
    role: Literal["producers"] = "producers"
    rate: Rate = RateShape()
    size: Size = SizeShape(fixed=100)
    keys: Keys = KeyShape()
    content: Content = "random"
    acks: Literal["all", 0, 1] = "all"
    compression: Compression = Compression.NONE
    linger_ms: Annotated[float, Field(ge=0, le=900_000)] = 5.0
    batch_bytes: Annotated[Bytes, Field(ge=1, le=2_147_483_647)] = 1_000_000

    def client_options(self) -> dict[str, object]:
        return {
            "acks": str(self.acks),
            "compression.type": self.compression.value,
            "linger.ms": self.linger_ms,
            "batch.size": self.batch_bytes,
            "queue.buffering.max.messages": 200_000,
        }


class Consumers(Group):
    """Consumers that share the partitions by a fixed assignment, or as members of a consumer group if it has a name."""

    role: Literal["consumers"] = "consumers"
    group: Name | None = None
    position: Annotated[Literal["latest", "earliest"], Field(alias="from")] = "latest"
    rate: Rate = RateShape()
    """Messages per second; below the rate of the producers it makes slow consumers."""


class Scenario(Shape):
    name: Name
    about: str = ""
    duration: Annotated[Seconds, Field(gt=0)] = 10.0
    topics: dict[Name, Topic] = Field(default_factory=dict)
    producers: Annotated[tuple[Producers, ...], Field(max_length=GROUPS_MAX)] = ()
    consumers: Annotated[tuple[Consumers, ...], Field(max_length=GROUPS_MAX)] = ()

    @property
    def groups(self) -> tuple[Producers | Consumers, ...]:
        return (*self.producers, *self.consumers)

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        names = [group.name for group in self.groups]
        if not names:
            raise ValueError("there is nothing to do: give `producers`, `consumers` or both")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two groups are called {name}: give each a name of its own")
        for group in self.groups:
            if group.start >= self.duration:
                raise ValueError(
                    f"{group.name} starts at {group.start:g} s, when all is over: raise `duration` or lower `start`"
                )
        return self

    def topic(self, name: str) -> Topic:
        return self.topics.get(name, Topic())

    def seconds_of(self, group: Group) -> float:
        rest = self.duration - group.start
        return rest if group.duration is None else min(group.duration, rest)
