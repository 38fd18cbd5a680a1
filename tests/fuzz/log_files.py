"""Target: the files of a log's directory, with any bytes in them: segments, indexes, snapshots, leftovers.

    byte 0     bit 0: compaction may have left holes · bits 1-3: the log start in tens
    the rest   files: kind u8 · size u16 · bytes (see `KINDS`)

Wrong is: an exception from `verify_log` or `recover`; a verify that changes something; a second recovery that finds
something else than the first; a read of a recovered log that ends in anything but batches or a KafkaError; a repair
after which the log is not sound.
"""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from crc32c import crc32c

from penstock.model.batch import TRANSACTIONAL_BIT, iter_headers, read_header, stamp
from penstock.model.control_record import Marker, build_marker, parse_marker
from penstock.model.errors import KafkaError
from penstock.runtime.files import RealFiles
from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.producer_state import Producers
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.checkpoint.snapshot import encode_snapshot
from penstock.storage.interface import LogConfig
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.recovery.recovery import recover
from penstock.storage.recovery.repair import repair_log
from penstock.storage.recovery.verify import verify_log
from penstock.storage.segment.aborted_index import AbortedIndex
from penstock.storage.segment.offset_index import OffsetIndex
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import TimeIndex, Times
from tests.fuzz.finding import Finding, watched
from tests.fuzz.mutation import Change, change_somehow, fix_batches, put_number, rearrange
from tests.fuzz.samples import TIME
from tests.support.batches import Record, batch
from tests.unit.storage.log_rig import Journal, Rig

LOG_0, LOG_3, LOG_9, INDEX, TIMES, SNAPSHOT, SWAP, FAILED, HOLES, CLEANED, TEMPORARY, ABORTED = range(12)
KINDS: Final = (
    "00000000000000000000.log", "00000000000000000003.log", "00000000000000000009.log",
    "00000000000000000000.index", "00000000000000000000.timeindex", "",
    "00000000000000000000-00000000000000000009.swap", "flush-failed", "holes",
    "00000000000000000000.cleaned", "00000000000000000000.log.tmp", "00000000000000000000.txnindex",
)  # fmt: skip
MEMORY: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None
FILES: Final = RealFiles()
OFFSETS_MAX: Final = 1 << 40  # a snapshot may claim more; nobody reads its way there


def run(data: bytes) -> None:
    if not data:
        return
    compacted, log_start = bool(data[0] & 1), (data[0] >> 1 & 7) * 3 % 12
    root = Path(tempfile.mkdtemp(dir=MEMORY, prefix="penstock-fuzz-"))
    try:
        with watched():
            for kind, content in split(data[1:]):
                _put(root, kind, content)
            before = _contents(root)
            verify_log(FILES, root, log_start=log_start, compacted=compacted)
            if _contents(root) != before:
                raise Finding("verify changed something")
            _check_repair(root, log_start, compacted)
            _check_recovery(root, log_start, compacted)
            _check_reading(root, log_start)
    finally:
        shutil.rmtree(root)


def _put(root: Path, kind: int, content: bytes) -> None:
    name = KINDS[kind]
    if kind == SNAPSHOT:  # named by the end that it claims
        end = int.from_bytes(content[12:20], "little", signed=True)
        name = f"{end if 0 <= end < OFFSETS_MAX else 0:020d}.snapshot"
    (root / name).write_bytes(content)


def _contents(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir()}


def _recover(root: Path, log_start: int, compacted: bool) -> RecoveredLog:
    return recover(FILES, root, log_start=log_start, now_ms=TIME, compacted=compacted, index_interval_bytes=100)


def _check_recovery(root: Path, log_start: int, compacted: bool) -> None:
    first = _recover(root, log_start, compacted)
    for segment in first.segments:
        if first.damage is None and segment.path.stat().st_size < segment.size:
            raise Finding(f"{segment.path.name} has fewer bytes than {segment.size}")
    again = _recover(root, log_start, compacted)
    seen = [(one.log_end, one.damage, [segment.entry() for segment in one.segments]) for one in (first, again)]
    if seen[0] != seen[1] or again.cut_bytes:
        raise Finding(f"recovered as {seen[0]}, then as {seen[1]}, {again.cut_bytes} more bytes cut")


def _check_repair(root: Path, log_start: int, compacted: bool) -> None:
    copy = root.with_name(root.name + "-repaired")
    shutil.copytree(root, copy)
    try:
        repair_log(FILES, copy, now_ms=TIME, log_start=log_start, compacted=compacted)
        report = verify_log(FILES, copy, log_start=log_start, compacted=compacted)
        if not report.is_sound:
            raise Finding(f"not sound after a repair: {report.bad} {report.missing}")
    finally:
        shutil.rmtree(copy)


def _check_reading(root: Path, log_start: int) -> None:
    rig = OpenedRig(root, log_start)
    log = rig.log
    try:
        offset = log.log_start
        while offset < log.flushed:
            found = log.read(offset, 200, end=log.flushed, one_batch_at_least=True, wait=True)
            if not found.records:
                break
            if found.next_offset <= offset or not list(iter_headers(found.records)):
                raise Finding(f"a read at {offset} goes on at {found.next_offset}")
            offset = found.next_offset
        log.aborted_transactions(log.log_start, log.last_stable, wait=True)
        if log.log_start <= log.flushed and not log.log_start <= log.last_stable <= log.flushed:
            raise Finding(f"stable to {log.last_stable} of {log.log_start} to {log.flushed}")
        log.find_timestamp(TIME + 1, end=log.flushed)
        log.find_max_timestamp(end=log.flushed)
    except KafkaError:
        pass
    finally:
        rig.kill()


class OpenedRig(Rig):
    """A log in a directory that is there already, with the log start that the metadata would have."""

    def __init__(self, directory: Path, log_start: int) -> None:
        self.files = FILES
        self.root = self.directory = directory
        self.config = LogConfig()
        self.verify = "first"
        self.journal = Journal()
        self.journal.log_start = log_start
        self.gate = WriteGate("full")
        self.epoch = -1
        self.damage = []
        self.log = self.open(now_ms=TIME)


# --- inputs ----------------------------------------------------------------------------------------------------------


def split(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 3 <= len(data):
        size = int.from_bytes(data[position + 1 : position + 3], "big")
        yield data[position] % len(KINDS), data[position + 3 : position + 3 + size]
        position += 3 + size


def join(parts: list[tuple[int, bytes]]) -> bytes:
    return b"".join(bytes((kind,)) + len(content).to_bytes(2, "big") + content for kind, content in parts)


def _segment(first: int, count: int, *, epoch: int = 0) -> bytes:
    return b"".join(
        batch(
            [Record(key=b"k", value=b"v%d" % offset, timestamp_ms=TIME + offset)],
            base_offset=offset,
            leader_epoch=epoch,
            producer_id=7,
            producer_epoch=0,
            base_sequence=offset,
        )
        for offset in range(first, first + count)
    )


def _transactions() -> tuple[bytes, bytes, bytes]:
    """A segment with an aborted, a committed and an open transaction, its index and its snapshot."""
    producers, index = Producers(), AbortedIndex()
    segment = b""
    for offset, is_commit in enumerate((None, False, None, True, None)):
        if is_commit is None:
            one = batch(
                [Record(key=b"k", value=b"v", timestamp_ms=TIME)],
                base_offset=offset,
                producer_id=7,
                producer_epoch=0,
                base_sequence=offset // 2,
                attributes=TRANSACTIONAL_BIT,
            )
        else:
            marker = build_marker(Marker(7, 0, 1, is_commit), TIME)
            stamp(marker, offset, 0)
            one = bytes(marker)
        header = read_header(one)
        aborted = producers.replay(header, parse_marker(one, header) if header.is_control else None, TIME)
        if aborted is not None:
            index.add(aborted)
        segment += one
    entry = SegmentEntry(0, 5, len(segment), Times(TIME, TIME, 0), index.summary)
    return segment, index.encode(1), encode_snapshot(5, [entry], [(0, 0)], producers.encode())


def _snapshot(end: int, *segments: tuple[int, int, int]) -> bytes:
    entries = [SegmentEntry(base, stop, size, Times(TIME, TIME + 2, base)) for base, stop, size in segments]
    return encode_snapshot(end, entries, Epochs([(0, 0)]).entries, Producers().encode())


def seeds() -> dict[str, bytes]:
    whole = _segment(0, 3)
    next_one = _segment(3, 6, epoch=1)
    index, times = OffsetIndex(), TimeIndex()
    index.add(1, len(whole) // 3)
    times.add(TIME, 1)
    sets: dict[str, list[tuple[int, bytes]]] = {
        "one": [(LOG_0, whole)],
        "two": [(LOG_0, whole), (LOG_3, next_one)],
        "three": [(LOG_0, whole), (LOG_3, next_one), (LOG_9, b"")],
        "torn": [(LOG_0, whole), (LOG_3, next_one[:-20])],
        "zeros": [(LOG_0, whole + bytes(200))],
        "damaged": [(LOG_0, whole[:100] + b"?" + whole[101:])],
        "missing": [(LOG_0, whole), (LOG_9, _segment(9, 1))],
        "snapshot": [(LOG_0, whole), (SNAPSHOT, _snapshot(3, (0, 3, len(whole))))],
        "old-snapshot": [(LOG_0, whole), (LOG_3, next_one), (SNAPSHOT, _snapshot(1, (0, 1, len(whole) // 3)))],
        "lost": [(LOG_3, next_one), (SNAPSHOT, _snapshot(9, (0, 3, len(whole)), (3, 9, len(next_one))))],
        "indexed": [
            (LOG_0, whole),
            (INDEX, index.encode(0, len(whole))),
            (TIMES, times.encode(0, len(whole), Times(TIME, TIME + 2, 2))),
        ],
        "swap": [(LOG_0, whole), (LOG_3, next_one), (SWAP, whole[:77] + next_one), (HOLES, b"")],
        "leftovers": [(LOG_0, whole), (FAILED, b"EIO"), (CLEANED, b"half"), (TEMPORARY, b"half")],
    }
    dealt, aborted, snapshot = _transactions()
    sets["transactions"] = [(LOG_0, dealt)]
    sets["aborted"] = [(LOG_0, dealt), (ABORTED, aborted), (SNAPSHOT, snapshot)]
    sets["aborted-lost"] = [(LOG_0, dealt), (SNAPSHOT, snapshot)]
    sets["swap-transactions"] = [(SWAP, dealt), (HOLES, b""), *sets["aborted"]]
    sets["swap-snapshot"] = [*sets["swap"], (SNAPSHOT, _snapshot(9, (0, 3, len(whole)), (3, 9, len(next_one))))]
    return {f"{name}-{head}": bytes((head,)) + join(parts) for name, parts in sets.items() for head in (0, 1, 2)}


@functools.cache
def spare_files() -> tuple[bytes, ...]:
    return tuple(join([part]) for seed in seeds().values() for part in split(seed[1:]))


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    parts = list(split(data[1:]))
    kind = choose.random()
    if kind < 0.1 or not parts:
        return bytes((choose.randrange(16),)) + data[1:]
    if kind < 0.3:
        packed = [join([part]) for part in parts]
        rearrange(packed, spare_files(), choose)
        return (data[:1] + b"".join(packed))[:max_bytes]
    at = choose.randrange(len(parts))
    which, content = parts[at]
    if which in (INDEX, TIMES, SNAPSHOT):
        changed = put_number(content, choose) if choose.random() < 0.6 else change(content, max_bytes)
        changed = fix_checksum(which, changed)
    else:
        changed = change_somehow(content, max_bytes, choose, change)
        if choose.random() < 0.5:
            changed = fix_batches(changed)
    parts[at] = (which, changed)
    return (data[:1] + join(parts))[:max_bytes]


def fix_checksum(kind: int, content: bytes) -> bytes:
    """The same content under a CRC that is right."""
    if kind == SNAPSHOT:
        return content[:8] + crc32c(content[12:]).to_bytes(4, "little") + content[12:]
    return content[:-4] + crc32c(content[:-4]).to_bytes(4, "little")
