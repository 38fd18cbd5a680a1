"""Hanging transactions: open in a partition but unknown to every coordinator, so that nothing would ever end them.

A coordinator keeps a partition in its transaction from before the first batch until after the marker. So a transaction
hangs if it is open in a partition, is then not found at any coordinator, and is still open afterwards. A transaction
that is just beginning or ending does not pass all three checks.
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
    """A hanging transaction; `known` is set if its coordinator has it and should have ended it long ago."""

    producer: OpenProducer
    known: DescribedTransaction | None
    open_for_ms: int
    why: str

    @property
    def remedy(self) -> str:
        if self.why == NOT_TO_BE_ASKED:
            return (
                f"{self.producer.place}: restart the broker, which recovers the coordinator or aborts the transaction"
            )
        if self.known is not None:
            return f"to end it: penstock transaction abort {self.known.transactional_id}"
        topic, partition = self.producer.place
        where = f"--topic {topic} --partition {partition} --producer-id {self.producer.producer_id}"
        return f"to end it: penstock transaction abort {where}"


def coordinated(connection: KafkaConnection, producer: OpenProducer) -> DescribedTransaction | None:
    """Return the transaction of an open producer as its coordinator knows it, or None."""
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
    """Yield transactions that no coordinator knows, and those open longer than any timeout allows."""
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
