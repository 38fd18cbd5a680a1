"""A hierarchy without I/O: nodes with real logs in memory, whose crashes, losses and time the test controls.

A node's log loses unflushed records when it crashes. Requests of a child go through the real codec, the real reader of
the parent and the real follower; only the wire and the disk are simulated.
"""

from __future__ import annotations

import uuid
from random import Random

from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader, Mirror
from penstock.config.settings import PipeSettings
from penstock.model.batch import iter_headers, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.ids import PartitionId
from penstock.storage.interface import LogConfig
from penstock.storage.memory.budget import MemoryBudget
from penstock.storage.memory.log import MemoryLog
from penstock.topology.pipe.follower import BadAnswer, Diverge, Followed, PipeFollower, Place, Restart, Store, Trim
from penstock.topology.pipe.health import PipeHealth
from penstock.topology.pipe.reading import PullReader, last_batch
from penstock.topology.pipe.wire import (
    PullAnswer,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

TOPIC = uuid.UUID(int=5)
PARTITION = PartitionId(TOPIC, 0)
PLACE = Place(TOPIC.bytes, 0)
NOW = 1_700_000_000_000
PAUSE_MS = 1_000


def batches_of(log: MemoryLog, end: int) -> dict[int, bytes]:
    """Base offset and bytes of every batch from the log's start to `end`."""
    found: dict[int, bytes] = {}
    offset = log.log_start
    while offset < end:
        piece = log.read(offset, 1 << 20, end=end, one_batch_at_least=True, wait=True)
        if not len(piece.records):
            break
        for position, header in iter_headers(piece.records):
            found[header.base_offset] = bytes(piece.records[position : position + header.size_bytes])
        offset = piece.next_offset
    return found


class Unmarked:
    """No flush is asked for: the world says when there is one."""

    def mark(self, log: MemoryLog, size_bytes: int) -> None: ...


class Node:
    """One log. Nothing is flushed before `flush`."""

    is_mirror = False

    def __init__(self) -> None:
        self.epoch = 0
        self.log = self._new_log()
        self.log.begin_epoch(-1 if self.is_mirror else 0)

    def _new_log(self) -> MemoryLog:
        return MemoryLog("t", PARTITION, LogConfig(), -1, MemoryBudget(1 << 40), Unmarked())

    @property
    def partition(self) -> Partition:
        return Partition("t", PARTITION, self.log, Mirror() if self.is_mirror else Leader(-1))

    def flush(self) -> None:
        self.log.show_all()

    def crash(self, *, keep: int | None = None) -> None:
        """Lose all unflushed records, or, on a disk that lies, all records from `keep` on."""
        old, end = self.log, self.log.flushed if keep is None else keep
        stored = batches_of(old, end)
        self.log = self._new_log()
        self.log.restart_at(min(stored, default=min(end, old.log_start)))
        for data in stored.values():
            self.log.append_mirrored(bytearray(data), read_header(data), NOW)
        self.log.show_all()
        self.log.delete_records(min(old.log_start, self.log.flushed))
        self.log.show_all()
        self.epoch += 1
        if not self.is_mirror:
            self.log.begin_epoch(self.epoch)


class Root(Node):
    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._count = 0
        self._open: set[int] = set()

    def produce(self) -> None:
        producer = self._random.choice([-1, 3, 4])
        records = []
        for _ in range(self._random.randint(1, 3)):
            self._count += 1
            records.append(NewRecord(b"k", b"%d" % self._count))
        batch = build_batch(
            records,
            timestamp=NOW + self._count,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            transactional=producer >= 0,
        )
        self.log.append(batch, read_header(batch), NOW)
        if producer >= 0:
            self._open.add(producer)

    def end_transaction(self) -> None:
        if self._open:
            producer = self._random.choice(sorted(self._open))
            self._open.discard(producer)
            self.log.append_marker(Marker(producer, 0, 0, self._random.random() < 0.5), NOW)

    def trim(self) -> None:
        self.log.delete_records(self._random.randint(self.log.log_start, self.log.flushed))


class Time:
    """The clock of all nodes, which the test moves."""

    def __init__(self) -> None:
        self.now_ms = 0

    def passes(self, milliseconds: int) -> None:
        self.now_ms += milliseconds


class Child(Node):
    """A child. `health` is notified of the outcome of every request, as in a node."""

    is_mirror = True

    def __init__(self, time: Time | None = None) -> None:
        super().__init__()
        self.time = time or Time()
        self.health = PipeHealth(PipeSettings())
        self.diverged = ""
        self.gaps = 0
        self.follower = self._new_follower()

    def _new_follower(self) -> PipeFollower:
        follower = PipeFollower(wait_ms=0, bytes_max=400, batches_max=5, pause_ms=PAUSE_MS)
        end = self.log.log_end
        epoch = self.log.epoch_at(end - 1) if end > self.log.log_start else -1
        self.flush()
        follower.follow(Followed(PLACE, end, self.log.log_start, epoch, last_batch(self.partition, wait=True)))
        return follower

    def begin_anew(self) -> None:
        """Start again after an error, or with another parent."""
        self.follower = self._new_follower()

    def failed(self) -> None:
        """Note a request without a usable answer."""
        self.health.failed()
        self.begin_anew()

    @property
    def lag_ms(self) -> int:
        since = self.follower.behind_since()
        return 0 if since is None else self.time.now_ms - since

    def crash(self, *, keep: int | None = None) -> None:
        super().crash(keep=keep)
        self.begin_anew()

    def ask(self, parent: Node) -> bytes:
        """The answer as the parent sends it; an empty one if it is too early to ask."""
        request = decode_request(encode_request(self.follower.request(self.time.now_ms)))
        reader = PullReader(request.bytes_max, request.batches_max)
        found = reader.read([(wanted, parent.partition) for wanted in request.partitions], wait=True)
        return b"".join(bytes(piece) for piece in encode_answer(PullAnswer(1, found)))

    def take(self, answer: bytes) -> None:
        """Take an answer. A bad one changes nothing."""
        if self.diverged:
            return
        try:
            steps = self.follower.digest(decode_answer(answer), self.time.now_ms)
        except (BadAnswer, ValueError):
            self.failed()
            return
        self.health.succeeded()
        self.health.lags(self.lag_ms)
        for step in steps:
            if isinstance(step, Store):
                for data, header in step.batches:
                    self.log.append_mirrored(data, header, NOW)
            elif isinstance(step, Restart):
                self.gaps += step.missing_from >= 0
                self.flush()
                self.log.restart_at(step.offset)
            elif isinstance(step, Trim):
                self.flush()
                self.log.delete_records(step.log_start)
            elif isinstance(step, Diverge):
                self.diverged = step.reason


def damaged(answer: bytes, random: Random) -> bytes:
    """An answer that is cut off, or changed where a checksum detects it."""
    if random.random() < 0.5 or len(answer) < 200:
        return answer[: random.randint(0, len(answer) - 1)]
    changed = bytearray(answer)
    changed[-1] ^= 0x55  # the last byte of the last batch
    return bytes(changed)


def same_where_both_have_it(child: MemoryLog, parent: MemoryLog, end: int) -> bool:
    """Whether the child's batches equal the parent's byte by byte, with none missing or duplicated."""
    start = max(child.log_start, parent.log_start)
    mine = {base: data for base, data in batches_of(child, end).items() if base >= start}
    theirs = {base: data for base, data in batches_of(parent, end).items() if base >= start}
    return mine == theirs
