"""A run of everything that changes a data directory, written down change by change.

`Workload` drives an engine on `FaultyFiles` with seeded choices and keeps a diary: what was appended where, and after
how many changes each promise was given (a flush reported, a log start made durable, a topic created or deleted). The
checks compare what a power cut leaves with the promises that were given before it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from penstock.model.ids import PartitionId
from penstock.storage.interface import Log
from penstock.storage.metadata.store import MetadataStore
from penstock.testing.faulty_files import FaultyFiles
from tests.support.committed_reader import end_transaction, put_in_transaction
from tests.support.engine_bench import EngineBench
from tests.support.fixed_threshold import FixedThreshold

# Small segments roll every few batches; "keyed" is compacted, "short" loses its front to retention; "deals" and
# "ledger" are written in transactions, and the latter is compacted.
CONFIGS: dict[str, dict[str, Any]] = {
    "plain": {"segment_bytes": 4000},
    "short": {"segment_bytes": 2000, "retention_bytes": 6000},
    "keyed": {
        "segment_bytes": 3000,
        "cleanup_compact": True,
        "cleanup_delete": False,
        "min_cleanable_dirty_ratio": 0.1,
        "delete_retention_ms": 5000,
    },
    "passing": {"segment_bytes": 4000},
    "deals": {"segment_bytes": 1500},
    "ledger": {
        "segment_bytes": 1500,
        "cleanup_compact": True,
        "cleanup_delete": False,
        "min_cleanable_dirty_ratio": 0.1,
        "delete_retention_ms": 2000,
    },
}
TRANSACTIONAL = ("deals", "ledger")
DEALERS = (21, 22, 23)


class RecordedMetadata(MetadataStore):
    """A metadata store whose every commit is a change of the recorded disk."""

    def __init__(self, files: FaultyFiles) -> None:
        super().__init__(
            None, on_commit=lambda database: files.record_durable(files.root / "meta.db", database.serialize())
        )


@dataclass(slots=True)
class Written:
    """One record that was appended, or a marker, if `is_commit` says of what kind."""

    key: bytes
    value: bytes | None
    producer: tuple[int, int]
    is_commit: bool | None = None


@dataclass(slots=True)
class Diary:
    """The history of one partition. Promises are (number of changes at the time, value)."""

    topic: str
    written: list[Written] = field(default_factory=list)  # by offset
    flushed: list[tuple[int, int]] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)
    created: int = 0
    deleted: int | None = None  # the number of changes before the deletion began

    def promised_end(self, change_count: int) -> int:
        return max((end for count, end in self.flushed if count <= change_count), default=0)

    def undecided_start(self, end: int) -> int:
        """The first offset of the oldest transaction that nothing below `end` has ended; `end` if there is none."""
        starts: dict[int, int] = {}
        for offset, written in enumerate(self.written[:end]):
            if written.is_commit is None:
                starts.setdefault(written.producer[0], offset)
            else:
                starts.pop(written.producer[0], None)
        return min(starts.values(), default=end)

    def committed(self, end: int) -> list[int]:
        """The offsets of all records that a marker below `end` has committed."""
        fates: dict[int, bool] = {}
        offsets = []
        for offset in reversed(range(end)):
            written = self.written[offset]
            if written.is_commit is not None:
                fates[written.producer[0]] = written.is_commit
            elif fates.get(written.producer[0], False):
                offsets.append(offset)
        return offsets[::-1]

    def promised_start(self, change_count: int) -> int:
        return max((start for count, start in self.starts if count <= change_count), default=0)


class Recording(EngineBench):
    """An engine whose flush reports go into the diaries."""

    workload: Workload

    def on_flushed(self, log: Log) -> None:
        diary = self.workload.diaries[log.partition]
        end = self.engine.log(log.partition).settled  # what producers are told, on disk or not
        diary.flushed.append((len(self.workload.files.changes), end))


class Workload:
    def __init__(self, root: Path, seed: int, flush: str = "always") -> None:
        root.mkdir()
        self.files = FaultyFiles(root)
        self.random = Random(seed)
        self.diaries: dict[PartitionId, Diary] = {}
        self._next_topic = 1
        self._sequences: dict[PartitionId, int] = {}
        self.bench = Recording(
            root,
            self.files,
            metadata=lambda: RecordedMetadata(self.files),
            cost=FixedThreshold(2),
            flush=flush,
            checkpoint_bytes=65536,
            checkpoint_interval_ms=3000,
            retention_check_interval_ms=2000,
            compaction_check_interval_ms=2500,
        )
        self.bench.workload = self
        self.topics = {name: self._create(name, 2 if name == "plain" else 1) for name in CONFIGS}
        self.bench.start()

    def run(self, change_count: int) -> None:
        """Go on until so many changes were made."""
        steps = [self._append] * 12 + [self._flush] * 4 + [self._tick] * 3 + [self._delete_records]
        while len(self.files.changes) < change_count:
            self.random.choice(steps)()
            if self.random.random() < 0.01:
                self._replace_passing()
        self._flush()

    def _create(self, name: str, partitions: int) -> uuid.UUID:
        topic_id = uuid.UUID(int=self._next_topic)
        self._next_topic += 1
        self.bench.create(name, topic_id, partitions, **CONFIGS[name])
        for index in range(partitions):
            self.diaries[PartitionId(topic_id, index)] = Diary(name, created=len(self.files.changes))
        return topic_id

    def _pick(self) -> tuple[PartitionId, Diary]:
        alive = [item for item in self.diaries.items() if item[1].deleted is None]
        return self.random.choice(alive)

    def _append(self) -> None:
        partition, diary = self._pick()
        if diary.topic in TRANSACTIONAL:
            self._deal(partition, diary)
            return
        for _ in range(self.random.choice((1, 1, 2, 5))):
            key = f"key-{self.random.randrange(8)}".encode()
            value: bytes | None = f"{len(diary.written)}:".encode() + self.random.randbytes(
                self.random.choice((5, 60, 400, 900))
            )
            if diary.topic == "keyed" and self.random.random() < 0.15:
                value = None
            producer = (-1, -1)
            if diary.topic == "plain":
                producer = (7, self._sequences.get(partition, 0))
                self._sequences[partition] = producer[1] + 1
            appended = self.bench.append(value, partition.partition, partition.topic_id, key, producer)
            assert appended.base_offset == len(diary.written)
            diary.written.append(Written(key, value, producer))

    def _deal(self, partition: PartitionId, diary: Diary) -> None:
        """A few batches of a transaction, which then may end."""
        producer_id = self.random.choice(DEALERS)
        log = self.bench.engine.log(partition)
        for _ in range(self.random.choice((0, 1, 2))):
            view = log.producer(producer_id)
            sequence = 0 if view is None else view.last_sequence + 1
            key = f"key-{self.random.randrange(5)}".encode()
            value = f"{len(diary.written)}:".encode() + self.random.randbytes(self.random.choice((5, 60, 200)))
            appended = put_in_transaction(log, producer_id, sequence, value, key=key)
            assert appended.base_offset == len(diary.written)
            diary.written.append(Written(key, value, (producer_id, sequence)))
        if self.random.random() < 0.6:
            is_commit = self.random.random() < 0.5
            end_transaction(log, producer_id, commit=is_commit)
            diary.written.append(Written(b"", None, (producer_id, -1), is_commit))

    def _flush(self) -> None:
        self.bench.settle()

    def _tick(self) -> None:
        self.bench.clock.advance(self.random.randrange(1500))
        self.bench.engine.tick()
        self.bench.settle()

    def _delete_records(self) -> None:
        partition, diary = self._pick()
        log = self.bench.engine.log(partition)
        if diary.topic not in ("keyed", "ledger") and log.settled > log.log_start:
            before = self.random.randint(log.log_start, log.settled)
            log.delete_records(before)
            diary.starts.append((len(self.files.changes), before))

    def _replace_passing(self) -> None:
        """Delete a topic and create another of the same name."""
        topic_id = self.topics["passing"]
        partition = PartitionId(topic_id, 0)
        self.diaries[partition].deleted = len(self.files.changes)
        self.bench.engine.metadata.topics.delete(topic_id)
        self.bench.engine.remove(partition)
        self.topics["passing"] = self._create("passing", 1)
