"""The choice of a partition for a message that names none, as Kafka's clients do it: by the key, else in turn."""

from __future__ import annotations

import itertools
from zlib import crc32

from penstock.model.murmur2 import partition_of


class Partitioner:
    """`counts` has the partition counts of the topics that are known; only those can be chosen for."""

    __slots__ = ("_first_turn", "_turns", "counts")

    def __init__(self, seed: str) -> None:
        """Turns begin at a partition that depends on the `seed`.

        If all began at partition 0, it would get everything from programs that publish one message and end.
        """
        self.counts: dict[str, int] = {}
        self._turns: dict[str, itertools.count[int]] = {}
        self._first_turn = crc32(seed.encode("utf-8", "surrogateescape"))

    def choose(self, topic: str, key: bytes | None) -> int:
        count = self.counts[topic]
        if key is not None:
            return partition_of(key, count)
        if topic not in self._turns:
            self._turns[topic] = itertools.count(self._first_turn)
        return next(self._turns[topic]) % count
