"""The connector from a child to its parent: a list of topics, and record batches from offsets on.

`PipeConnector` is open to other packages (docs/extending.md): the entry point group is `penstock.pipe`, its values are
`Connect`. Built in are `http`, to another Penstock, and `kafka`, to any broker that speaks Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from penstock.config.settings import PipeSettings
from penstock.topology.pipe.wire import PullAnswer, PullRequest


class ParentUnavailable(Exception):
    """The parent cannot be reached, or its answer is unusable; the message says which. Tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentTopic:
    """A topic of the parent. `configs` are those that were set for it, by Kafka's names.

    `ends` are the high watermarks of its partitions; unknown ones are -1 or missing.
    """

    name: str
    topic_id: UUID
    partition_count: int
    configs: Mapping[str, str] = field(default_factory=dict)
    ends: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentTopics:
    """All topics that may be mirrored. `version` changes with every change of them."""

    version: int
    topics: Sequence[ParentTopic]


class PipeConnector(Protocol):
    """One parent. Every method may raise ParentUnavailable, and may be called again after that; one call at a time."""

    async def topics(self) -> ParentTopics: ...

    async def pull(self, request: PullRequest) -> PullAnswer:
        """Records from the wanted offsets on, as soon as there are any; `docs/formats/pipe.md` describes the answer.

        A partition that names its last batch is answered at once; the answer says whether its history is the same.
        """
        ...

    async def close(self) -> None: ...


class Connect(Protocol):
    """Makes a connector; opens nothing yet. ValueError for an address that it cannot use, with the reason."""

    def __call__(self, parent_url: str, settings: PipeSettings) -> PipeConnector: ...
