"""The ledger of a soak: for every offset of its logs, what was acknowledged and what was read there.

A message says who sent it and which one it is; both are one number, its code. The first one to learn what is at an
offset writes the code down, everybody later compares: an acknowledgement, the reader at the end of the log, group
members, and those who read everything again after a restart. So a lost, changed or moved message shows, however long
after.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable
from random import Random

from tests.soak.plan import LOGGED

Partition = tuple[str, int]

NOTHING = -1
_SEQUENCE_BITS = 40
_PADDING = Random(1).randbytes(4000)  # which no codec makes smaller


def code_of(producer: int, sequence: int) -> int:
    return producer << _SEQUENCE_BITS | sequence


def producer_of(code: int) -> int:
    return code >> _SEQUENCE_BITS


def message(producer: int, sequence: int) -> bytes:
    """The value that this producer sends as its nth: any change of it is noticed. Up to 1 kB, 500 B on average."""
    start = sequence * 31 % 2900
    return b"%d:%d:" % (producer, sequence) + _PADDING[start : start + sequence * 17 % 1000]


def read_message(value: bytes | None) -> int:
    """The code of a message; ValueError if it is not what was sent."""
    producer, sequence, _ = (value or b"").split(b":", 2)
    if message(int(producer), int(sequence)) != value:
        raise ValueError(f"message {int(sequence)} of producer {int(producer)} was changed")
    return code_of(int(producer), int(sequence))


class PartitionLedger:
    """One partition."""

    def __init__(self, partition: Partition, report: Callable[[str], None]) -> None:
        self.name = f"{partition[0]}-{partition[1]}"
        self.acknowledged = 0
        self.acknowledged_end = 0  # behind the last offset that was acknowledged
        self.read_to = 0  # by the reader that follows the log
        self.expired_unread = 0  # offsets that retention took before that reader came
        self._report = report
        self._lock = threading.Lock()
        self._codes = array("q")
        self._marks: list[tuple[int, int]] = []  # (second, acknowledged end at its end)

    def acknowledge(self, offset: int, code: int) -> None:
        with self._lock:
            self._note(offset, code, "acknowledged")
            self.acknowledged += 1
            self.acknowledged_end = max(self.acknowledged_end, offset + 1)
            now = int(time.time())
            if self._marks and self._marks[-1][0] == now:
                self._marks.pop()
            self._marks.append((now, self.acknowledged_end))

    def read(self, offset: int, value: bytes | None) -> None:
        try:
            code = read_message(value)
        except ValueError as error:
            self._report(f"{self.name}: at {offset}: {error}")
            return
        with self._lock:
            self._note(offset, code, "read")

    def _note(self, offset: int, code: int, what: str) -> None:
        codes = self._codes
        if offset >= len(codes):
            codes.extend([NOTHING] * (offset + 1 - len(codes)))
        if codes[offset] == NOTHING:
            codes[offset] = code
        elif codes[offset] != code:
            self._report(f"{self.name}: {code:#x} was {what} at {offset}, which has {codes[offset]:#x}")

    def acknowledged_before(self, moment: float) -> int:
        """The offset up to which everything was there at this time, give or take a second."""
        with self._lock:
            return max((end for at, end in self._marks if at <= moment), default=0)

    def check_order(self) -> int:
        """Each producer's messages are in the order they were sent, none twice; the number of offsets known."""
        last: dict[int, int] = {}
        known = 0
        for offset, code in enumerate(self._codes):
            if code == NOTHING:
                continue
            known += 1
            producer = producer_of(code)
            if code <= last.get(producer, -1):
                self._report(f"{self.name}: {code:#x} at {offset} comes after {last[producer]:#x}: twice, or late")
            last[producer] = code
        return known


class Ledger:
    """All partitions whose every offset is accounted for."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.partitions: dict[Partition, PartitionLedger] = {
            (topic.name, index): PartitionLedger((topic.name, index), report)
            for topic in LOGGED
            for index in range(topic.partitions)
        }

    @property
    def acknowledged(self) -> int:
        return sum(each.acknowledged for each in self.partitions.values())

    @property
    def read(self) -> int:
        return sum(each.read_to for each in self.partitions.values())
