"""Transactions that hang: open in a partition, and no coordinator knows them, so nobody would ever end them.

A coordinator has a partition in its transaction from before the first batch until after the marker. So what is open in
a partition, is then not found at any coordinator, and after that is still open as before, hangs; a transaction that is
just being begun or ended does not look like it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.transaction.requests import (
    OPEN_STATES,
    OpenProducer,
    describe,
    list_all,
    open_for_ms,
    open_producers,
)

if TYPE_CHECKING:
    from penstock.cli.kafka.kafka_connection import KafkaConnection
    from penstock.protocol.kafka.describe_transactions import DescribedTransaction

UNKNOWN: Final = "no coordinator knows it"
NOT_TO_BE_ASKED: Final = "its coordinator cannot be asked"
TOO_LONG: Final = "open beyond every timeout"


class Hanging(NamedTuple):
    """`known`: its coordinator has it and should have ended it long ago."""

    producer: OpenProducer
    known: DescribedTransaction | None
    open_for_ms: int
    why: str

    @property
    def remedy(self) -> str:
        if self.why == NOT_TO_BE_ASKED:
            return f"{self.producer.place}: restart the broker, which recovers the coordinator or ends what it lost"
        if self.known is not None:
            return f"to end it: penstock transaction abort {self.known.transactional_id}"
        topic, partition = self.producer.place
        where = f"--topic {topic} --partition {partition} --producer-id {self.producer.producer_id}"
        return f"to end it: penstock transaction abort {where}"


def coordinated(connection: KafkaConnection, producer: OpenProducer) -> DescribedTransaction | None:
    """The transaction to which this belongs, as a coordinator knows it."""
    for one in list_all(connection, producer_ids=[producer.producer_id]):
        found = describe(connection, one.transactional_id)
        places = {(topic, index) for topic, indexes in found.topics for index in indexes}
        if found.state in OPEN_STATES and found.producer_id == producer.producer_id and producer.place in places:
            return found
    return None


def is_open_as_before(connection: KafkaConnection, producer: OpenProducer) -> bool:
    topic, partition = producer.place
    now = open_producers(connection, {topic: [partition]})
    return any(each[:4] == producer[:4] for each in now)


def find_hanging(connection: KafkaConnection, places: dict[str, list[int]], timeout_max_ms: int) -> Iterator[Hanging]:
    """Those that no coordinator knows, and those that are open for longer than any timeout may be."""
    for producer in list(open_producers(connection, places)):
        known, why = None, UNKNOWN
        try:
            known = coordinated(connection, producer)
        except CommandError as error:
            if error.code is ExitCode.UNREACHABLE:
                raise
            why = NOT_TO_BE_ASKED
        if known is None and is_open_as_before(connection, producer):
            open_ms = max(0, round(time.time() * 1000) - producer.last_timestamp_ms)
            yield Hanging(producer, None, open_ms, why)
        elif known is not None and (open_ms := open_for_ms(known) or 0) > timeout_max_ms:
            yield Hanging(producer, known, open_ms, TOO_LONG)
