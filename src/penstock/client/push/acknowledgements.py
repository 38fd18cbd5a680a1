"""Handled messages as ranges of offsets: one ACK for many messages."""

from __future__ import annotations

from penstock.client.push.message import Message
from penstock.protocol.push.data import AckRange, Verdict


class Acknowledgements:
    """The handled messages of one subscription since the last ACK; adjacent offsets are joined into ranges."""

    __slots__ = ("_closed", "_open", "count", "generation")

    def __init__(self) -> None:
        self.count = 0
        self.generation = -1
        self._open: dict[int, list[int]] = {}  # partition: first, last
        self._closed: list[AckRange] = []

    def done(self, message: Message) -> None:
        if message.generation != self.generation:
            self._begin(message.generation)
        self.count += 1
        offset = message.sequence_number
        run = self._open.get(message.partition)
        if run is not None and run[1] + 1 == offset:
            run[1] = offset
            return
        if run is not None:
            self._closed.append(AckRange(message.partition, run[0], run[1]))
        self._open[message.partition] = [offset, offset]

    def not_done(self, message: Message) -> None:
        if message.generation != self.generation:
            self._begin(message.generation)
        self.count += 1
        offset = message.sequence_number
        self._closed.append(AckRange(message.partition, offset, offset, Verdict.NOT_DONE))

    def take(self) -> tuple[AckRange, ...]:
        """Take all ranges and start over."""
        ranges = (*self._closed, *(AckRange(partition, first, last) for partition, (first, last) in self._open.items()))
        self.count = 0
        self._open = {}
        self._closed = []
        return ranges

    def _begin(self, generation: int) -> None:
        """Begin with a connection. Messages of an earlier one are not acknowledged: the broker redelivers them."""
        self.take()
        self.generation = generation
