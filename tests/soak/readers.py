"""Raw readers: one follows every log with an incremental fetch session, others read all that is kept, again."""

from __future__ import annotations

import time
from typing import Any

from kio.schema.errors import ErrorCode

from tests.soak.ledger import Partition
from tests.soak.plan import LOGGED, Topic
from tests.soak.world import Client, World
from tests.support.batches import decode_batches
from tests.support.raw_client import RawClient

RETENTION_SLACK_SECONDS = 3.0
STEP_BYTES = 256 * 1024
SESSION_LOST = (ErrorCode.fetch_session_id_not_found, ErrorCode.invalid_fetch_session_epoch)
RETENTION: dict[str, Topic] = {topic.name: topic for topic in LOGGED}


def take_records(world: World, partition: Partition, position: int, records: bytes | None) -> int:
    """Write down what was fetched from `position` on; the position behind it. Offsets must follow on each other."""
    ledger = world.ledger.partitions[partition]
    for stored in decode_batches(records):
        if not stored.crc_is_right:
            world.problem(f"{ledger.name}: the CRC of the batch at {stored.base_offset} is wrong")
        for record in stored.records:
            if record.offset < position:
                continue  # a fetch from the middle of a batch
            if record.offset != position:
                world.problem(f"{ledger.name}: {record.offset} follows on {position - 1}")
            ledger.read(record.offset, record.value)
            position = record.offset + 1
    return position


class FollowingReader(Client):
    """Reads every log to its end, in one fetch session over all partitions, from offset 0 on and through restarts."""

    pause = 0.05

    def __init__(self, world: World) -> None:
        super().__init__(world, "following reader")
        self._session_id = 0
        self._epoch = 0
        self._changed: set[Partition] = set()

    def lost(self) -> None:
        self._session_id = self._epoch = 0

    def turn(self) -> None:
        ledgers = self.world.ledger.partitions
        wanted = list(ledgers) if self._epoch == 0 else sorted(self._changed)
        answer = self.raw.call("fetch", 12, **self._request(wanted))
        if answer.error_code in SESSION_LOST:
            self.world.count("fetch sessions lost")
            self.lost()
            return
        if answer.error_code != ErrorCode.none:
            self.world.problem(f"{self.name}: {answer.error_code}")
            self.lost()
            return
        self._session_id = answer.session_id
        self._epoch = self._epoch + 1 if answer.session_id else 0
        self.world.count("incremental fetches" if self._epoch > 1 else "full fetches")
        self._changed.clear()
        for topic in answer.responses:
            for fetched in topic.partitions:
                self._take((topic.topic, fetched.partition_index), fetched)

    def _request(self, wanted: list[Partition]) -> dict[str, Any]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for name, index in wanted:
            values = self.raw.fetch_values(
                name, self.world.ledger.partitions[name, index].read_to, partition=index, partition_max_bytes=STEP_BYTES
            )
            topics.setdefault(name, []).extend(values["topics"][0]["partitions"])
        values = self.raw.fetch_values(
            "", 0, max_wait=500, max_bytes=1 << 20, session_id=self._session_id, session_epoch=self._epoch
        )
        return {**values, "topics": [{"topic": name, "partitions": parts} for name, parts in topics.items()]}

    def _take(self, partition: Partition, fetched: Any) -> None:
        ledger = self.world.ledger.partitions[partition]
        if fetched.error_code == ErrorCode.offset_out_of_range:
            start = self.raw.log_start(*partition)
            if start <= ledger.read_to:
                self.world.problem(f"{ledger.name}: {ledger.read_to} is out of range, but the log starts at {start}")
            self.world.count("offsets that expired unread", start - ledger.read_to)
            ledger.expired_unread += start - ledger.read_to
            ledger.read_to = start
            self._changed.add(partition)
        elif fetched.error_code != ErrorCode.none:
            self.world.problem(f"{self.name}: {ledger.name}: {fetched.error_code}")
        else:
            position = take_records(self.world, partition, ledger.read_to, fetched.records)
            if position != ledger.read_to:
                ledger.read_to = position
                self._changed.add(partition)


def read_again(world: World, client: RawClient) -> int:
    """Read all that is kept of every log and compare; the number of messages."""
    total = 0
    for partition, ledger in world.ledger.partitions.items():
        promised = ledger.acknowledged_end
        position = begin = first_kept(world, client, partition)
        end = client.log_end(*partition)
        if end < promised:
            world.problem(f"{ledger.name}: ends at {end}, but {promised - 1} was acknowledged")
        while position < end:
            name, index = partition
            fetched = client.fetch(name, position, partition=index, partition_max_bytes=STEP_BYTES)
            if fetched.error_code == ErrorCode.offset_out_of_range:  # retention went by
                position = begin = first_kept(world, client, partition)
                continue
            if fetched.error_code != ErrorCode.none:
                world.problem(f"{ledger.name}: reading again at {position}: {fetched.error_code}")
                break
            behind = take_records(world, partition, position, fetched.records)
            if behind == position:
                world.problem(f"{ledger.name}: nothing at {position}, below the end {end}")
                break
            position = behind
        total += position - begin
    world.count("messages read again", total)
    return total


def first_kept(world: World, client: RawClient, partition: Partition) -> int:
    """Where the log starts; a problem if retention has taken what is too young for it.

    Not judged for a while after the whole run was stopped: messages of before were appended after it, old at once.
    """
    ledger, topic = world.ledger.partitions[partition], RETENTION[partition[0]]
    asked = time.time()
    start = client.log_start(*partition)
    if topic.retention_ms is not None:
        old = ledger.acknowledged_before(asked + RETENTION_SLACK_SECONDS - topic.retention_ms / 1000)
        if start > old and not world.was_suspended():
            world.problem(f"{ledger.name}: starts at {start}, but what is above {old} is younger than its retention")
    return start
