"""The compacted topic: keys that are overwritten and deleted all the time, and what a reader must find."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from kio.schema.errors import ErrorCode

from tests.soak.plan import KEYED
from tests.soak.producers import RDKAFKA
from tests.soak.world import PATIENCE_SECONDS, Client, World
from tests.support.batches import decode_batches
from tests.support.raw_client import RawClient

KEYS = 400
TOMBSTONE_EVERY = 7  # versions of a key
ATTEMPTS = 3


def value_of(key: int, version: int) -> bytes | None:
    if version % TOMBSTONE_EVERY == TOMBSTONE_EVERY - 1:
        return None
    return b"%d:%d:" % (key, version) + b"v" * (version * 13 % 300)


class KeyedState:
    """The newest version of each key that was sent, and that was acknowledged."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._sent = [0] * KEYS
        self._acknowledged = [0] * KEYS
        self.tombstones_gone = 0
        self.records_seen = 0

    def next_version(self, key: int) -> int:
        with self._lock:
            self._sent[key] += 1
            return self._sent[key]

    def acknowledge(self, key: int, version: int) -> None:
        with self._lock:
            if version != self._acknowledged[key] + 1:
                self._world.problem(f"keyed: {version} of key {key} is acknowledged after {self._acknowledged[key]}")
            self._acknowledged[key] = version

    def check(self, client: RawClient) -> None:
        """Read the topic from its start: each key has the value that was written last.

        A reader that takes longer than tombstones are kept may miss one, in Kafka as here, so it may try again.
        """
        for attempt in range(ATTEMPTS):
            wrong = self._differences(client)
            if not wrong:
                self._world.count("checks of the compacted topic")
                return
            if attempt == ATTEMPTS - 1:
                self._world.problem(f"keyed: {'; '.join(wrong[:5])}")

    def _differences(self, client: RawClient) -> list[str]:
        with self._lock:
            acknowledged = list(self._acknowledged)
        found: dict[int, tuple[int, bytes | None]] = {}
        wrong: list[str] = []
        for index in range(KEYED.partitions):
            wrong += self._read(client, index, found)
        with self._lock:
            sent = list(self._sent)
        self.tombstones_gone = 0
        for key in range(KEYS):
            if key not in found:
                # Nothing is left of it, so its last version must have been a tombstone, some time ago.
                versions = range(acknowledged[key], sent[key] + 1)
                if acknowledged[key] and all(value_of(key, version) is not None for version in versions):
                    wrong.append(f"key {key} is gone; version {acknowledged[key]} was acknowledged")
                self.tombstones_gone += bool(acknowledged[key])
            elif not acknowledged[key] <= found[key][0] <= sent[key]:
                wrong.append(f"key {key} has version {found[key][0]}, not {acknowledged[key]} to {sent[key]}")
        return wrong

    def _read(self, client: RawClient, index: int, found: dict[int, tuple[int, bytes | None]]) -> list[str]:
        wrong: list[str] = []
        position, end, seen = client.log_start(KEYED.name, index), client.log_end(KEYED.name, index), 0
        while position < end:
            answer = client.fetch(KEYED.name, position, partition=index)
            if answer.error_code != ErrorCode.none:
                return [f"partition {index} at {position}: {answer.error_code}"]
            batches = decode_batches(answer.records)
            if not batches:
                return [f"partition {index}: nothing at {position}, below the end {end}"]
            for stored in batches:
                for record in stored.records:
                    if record.offset < position:
                        continue
                    seen += 1
                    wrong += self._take(record.key, record.value, dict(record.headers), found)
                position = stored.last_offset + 1
        self.records_seen = seen if index == 0 else self.records_seen + seen
        return wrong

    @staticmethod
    def _take(
        raw_key: bytes | None,
        value: bytes | None,
        headers: dict[str, bytes | None],
        found: dict[int, tuple[int, bytes | None]],
    ) -> list[str]:
        key, version = int(raw_key or b"-1"), int(headers["version"] or b"-1")
        wrong = []
        if value != value_of(key, version):
            wrong.append(f"version {version} of key {key} was changed")
        if key in found and found[key][0] >= version:
            wrong.append(f"version {version} of key {key} comes after {found[key][0]}")
        found[key] = (version, value)
        return wrong


class KeyedWriter(Client):
    """Overwrites and deletes keys through an idempotent librdkafka producer."""

    def __init__(self, world: World, state: KeyedState) -> None:
        super().__init__(world, "keyed writer")
        self._state = state
        settings: dict[str, Any] = {"enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 5}
        self._producer = Producer({"bootstrap.servers": world.broker.bootstrap, **RDKAFKA, **settings})

    def turn(self) -> None:
        self._producer.poll(0)
        if len(self._producer) > 10_000:
            return  # the broker is being restarted
        for _ in range(15):
            key = min(self.random.randrange(KEYS), self.random.randrange(KEYS))  # some are written more often
            version = self._state.next_version(key)
            self._producer.produce(
                KEYED.name,
                value_of(key, version),
                str(key),
                partition=key % KEYED.partitions,
                headers={"version": str(version)},
                on_delivery=partial(self._delivered, key, version),
            )

    def _delivered(self, key: int, version: int, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.world.problem(f"{self.name}: version {version} of key {key} failed: {error}")
        else:
            self.world.count("keyed records")
            self._state.acknowledge(key, version)

    def finish(self) -> None:
        if left := self._producer.flush(PATIENCE_SECONDS):
            self.world.problem(f"{self.name}: {left} records were never answered")
