"""The log on disk: appending, reading, rolling, idempotence, flushes and their failure."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.model.batch import check_batch, iter_headers, read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import iter_records
from penstock.runtime.files import Buffer, File
from penstock.storage.interface import LogConfig, LogState
from tests.unit.storage.log_rig import NOW, Rig, make_batch, put, put_idempotent, read_all, values_of


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def small(tmp_path: Path, segment_bytes: int = 500, **config: int) -> Rig:
    return Rig(tmp_path, LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100, **config))  # type: ignore[arg-type]


def code_of(call: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return call.value.code


class TestAppend:
    def test_no_file_before_the_first_record(self, rig: Rig) -> None:
        assert not rig.directory.exists()
        assert values_of(rig.log) == []
        rig.append(b"a")
        assert rig.names(".log") == ["00000000000000000000.log"]

    @pytest.mark.feature("P-02")
    def test_the_file_holds_the_batch_with_offset_and_epoch_stamped(self, rig: Rig) -> None:
        rig.append(b"a", b"b")
        rig.log.begin_epoch(4)
        rig.append(b"c")
        headers = [header for _, header in iter_headers(rig.segment_file().read_bytes())]
        assert [(header.base_offset, header.leader_epoch) for header in headers] == [(0, 0), (2, 4)]

    @pytest.mark.feature("P-03")
    def test_visible_means_flushed(self, rig: Rig) -> None:
        put(rig.log, b"a")
        assert (rig.log.flushed, rig.log.log_end) == (0, 1)
        assert read_all(rig.log) == []
        rig.flush()
        assert values_of(rig.log) == [b"a"]

    def test_a_flush_covers_what_was_there_when_it_began(self, rig: Rig) -> None:
        put(rig.log, b"a")
        end, _ = rig.log.flush_targets()
        put(rig.log, b"b")
        rig.log.flush_completed(end)
        assert rig.log.flushed == 1
        assert values_of(rig.log) == [b"a"]
        assert rig.log.flush_targets()[1], "the second batch still waits for a sync"

    def test_a_new_segment_is_flushed_with_its_directory_and_the_old_file(self, tmp_path: Path) -> None:
        rig = small(tmp_path, 150)
        put(rig.log, b"a" * 50)
        put(rig.log, b"b" * 50)
        end, files = rig.log.flush_targets()
        assert end == 2
        assert len(files) == 5  # two segments, the names of both, and that of their directory
        rig.log.flush_completed(end)
        assert rig.log.flush_targets()[1] == []
        assert rig.cache.open_count == 2

    def test_too_large(self, tmp_path: Path) -> None:
        rig = Rig(tmp_path, LogConfig(max_message_bytes=100))
        with pytest.raises(KafkaError) as raised:
            rig.append(b"x" * 100)
        assert code_of(raised) is ErrorCode.MESSAGE_TOO_LARGE
        assert rig.log.log_end == 0

    def test_timestamps_out_of_bounds(self, tmp_path: Path) -> None:
        rig = Rig(tmp_path, LogConfig(timestamp_before_max_ms=1000, timestamp_after_max_ms=1000))
        for timestamp in (NOW - 1001, NOW + 1001):
            with pytest.raises(KafkaError) as raised:
                rig.append(b"x", timestamp=timestamp)
            assert code_of(raised) is ErrorCode.INVALID_TIMESTAMP
        rig.append(b"x", timestamp=NOW + 1000)
        rig.append(b"x", timestamp=-1)

    def test_log_append_time(self, tmp_path: Path) -> None:
        rig = Rig(tmp_path, LogConfig(log_append_time=True))
        assert rig.append(b"x", b"y", timestamp=5).append_time_ms == NOW
        assert [record.timestamp for record in read_all(rig.log)] == [NOW, NOW]
        header = read_header(rig.segment_file().read_bytes())
        assert header.is_log_append_time
        check_batch(rig.segment_file().read_bytes())  # the CRC was renewed

    def test_rolls_by_size_and_by_the_time_of_the_batches(self, tmp_path: Path) -> None:
        rig = small(tmp_path, segment_ms=1000)
        for _ in range(5):
            rig.append(b"x" * 150)
        assert rig.log.segment_count == 3
        rig.append(b"late", timestamp=NOW + 1001)
        rig.append(b"later", timestamp=NOW + 1002)
        assert rig.names(".log")[-1] == f"{5:020d}.log"
        assert len(read_all(rig.log)) == 7

    def test_a_full_disk_refuses_clients_but_not_the_broker(self, rig: Rig) -> None:
        rig.gate.accepts_writes = False
        with pytest.raises(KafkaError) as raised:
            rig.append(b"a")
        assert code_of(raised) is ErrorCode.KAFKA_STORAGE_ERROR
        batch = make_batch(b"a")
        assert rig.log.append_trusted(batch, check_batch(batch), NOW).base_offset == 0


class TestRead:
    @pytest.mark.parametrize("wait", [True, False])
    def test_from_inside_a_batch_to_a_limit(self, tmp_path: Path, wait: bool) -> None:
        rig = small(tmp_path, 1 << 20)
        for index in range(100):
            rig.append(*[b"%d" % (index * 3 + part) for part in range(3)])
        size = len(make_batch(b"123", b"124", b"125"))
        found = rig.log.read(124, 2 * size + 5, end=rig.log.flushed, one_batch_at_least=True, wait=wait)
        assert (found.first_offset, found.next_offset) == (123, 129)
        assert [record.offset for record in iter_records(found.records)] == [123, 124, 125, 126, 127, 128]

    def test_one_batch_at_least(self, rig: Rig) -> None:
        rig.append(b"x" * 1000)
        rig.append(b"y")
        end = rig.log.flushed
        assert not rig.log.read(0, 10, end=end, one_batch_at_least=False, wait=True).records
        found = rig.log.read(0, 10, end=end, one_batch_at_least=True, wait=True)
        assert found.next_offset == 1
        assert len(found.records) > 1000

    def test_never_crosses_the_end(self, tmp_path: Path) -> None:
        rig = small(tmp_path, 1 << 20)
        for index in range(60):
            rig.append(b"%d" % index, b"second")
        for end in range(121):
            found = rig.log.read(0, 1 << 20, end=end, one_batch_at_least=True, wait=True)
            assert found.next_offset == (end - end % 2 if end > 1 else -1)

    def test_out_of_range(self, rig: Rig) -> None:
        rig.append(b"a")
        for offset in (-1, 2):
            with pytest.raises(KafkaError) as raised:
                rig.log.read(offset, 100, end=1, one_batch_at_least=True, wait=True)
            assert code_of(raised) is ErrorCode.OFFSET_OUT_OF_RANGE
        assert not rig.log.read(1, 100, end=1, one_batch_at_least=True, wait=True).records

    def test_across_segments(self, tmp_path: Path) -> None:
        rig = small(tmp_path)
        for index in range(50):
            rig.append(b"%d" % index)
        assert rig.log.segment_count > 5
        assert values_of(rig.log) == [b"%d" % index for index in range(50)]
        assert values_of(rig.log, 33) == [b"%d" % index for index in range(33, 50)]

    def test_what_retention_took_is_out_of_range(self, tmp_path: Path) -> None:
        rig = small(tmp_path)
        for index in range(20):
            rig.append(b"%d" % index)
        rig.log.delete_records(10)
        with pytest.raises(KafkaError) as raised:
            read_all(rig.log, 9)
        assert code_of(raised) is ErrorCode.OFFSET_OUT_OF_RANGE
        assert rig.journal.log_start == 10
        assert values_of(rig.log)[0] == b"10"


class TestIdempotence:
    @pytest.mark.feature("X-02")
    def test_duplicates_within_five_batches_get_their_offsets(self, rig: Rig) -> None:
        for index in range(6):
            put_idempotent(rig.log, index * 2, b"a", b"b")
        for index in range(1, 6):
            again = put_idempotent(rig.log, index * 2, b"a", b"b")
            assert (again.duplicate, again.base_offset, again.last_offset) == (True, index * 2, index * 2 + 1)
        assert rig.log.log_end == 12
        for sequence, count in ((0, 2), (13, 1), (10, 1), (11, 2)):  # too old, a gap, partial overlaps
            with pytest.raises(KafkaError) as raised:
                put_idempotent(rig.log, sequence, *[b"x"] * count)
            assert code_of(raised) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_epochs(self, rig: Rig) -> None:
        put_idempotent(rig.log, 7, b"any first sequence will do", epoch=3)
        with pytest.raises(KafkaError) as raised:
            put_idempotent(rig.log, 8, b"old", epoch=2)
        assert code_of(raised) is ErrorCode.INVALID_PRODUCER_EPOCH
        with pytest.raises(KafkaError) as raised:
            put_idempotent(rig.log, 1, b"new, not from 0", epoch=4)
        assert code_of(raised) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert put_idempotent(rig.log, 0, b"new", epoch=4).base_offset == 1

    def test_sequences_wrap(self, rig: Rig) -> None:
        put_idempotent(rig.log, 2**31 - 2, b"a", b"b")
        assert put_idempotent(rig.log, 0, b"c").base_offset == 2
        assert put_idempotent(rig.log, 2**31 - 2, b"a", b"b").duplicate

    @pytest.mark.parametrize("clean", [True, False])
    @pytest.mark.parametrize("snapshot", ["kept", "deleted"])
    def test_across_restarts(self, rig: Rig, clean: bool, snapshot: str) -> None:
        for sequence in range(3):
            put_idempotent(rig.log, sequence, b"%d" % sequence)
        rig.flush()
        rig.checkpoint()
        put_idempotent(rig.log, 3, b"3")
        rig.flush()
        rig.close() if clean else rig.kill()
        if snapshot == "deleted":
            for name in rig.names(".snapshot"):
                (rig.directory / name).unlink()
        rig.open()
        again = put_idempotent(rig.log, 1, b"1")
        assert (again.base_offset, again.last_offset, again.duplicate) == (1, 1, True)
        assert again.append_time_ms > 0, "a duplicate is told the time of the batch that is there, as in Kafka"
        assert put_idempotent(rig.log, 3, b"3").duplicate
        assert put_idempotent(rig.log, 4, b"4").base_offset == 4

    def test_outlives_deleted_records_and_retention(self, tmp_path: Path) -> None:
        from penstock.storage.log.retention import run_retention

        rig = small(tmp_path, 200, retention_ms=1000)
        for sequence in range(8):
            put_idempotent(rig.log, sequence, b"x" * 100)
        rig.flush()
        assert run_retention(rig.log, NOW + 10_000) == 8
        rig.reopen(clean=False)
        assert rig.log.log_start == rig.log.log_end == 8
        assert put_idempotent(rig.log, 7, b"x" * 100).duplicate
        assert put_idempotent(rig.log, 8, b"x").base_offset == 8

    def test_idle_producers_are_forgotten_and_shown_until_then(self, rig: Rig) -> None:
        put_idempotent(rig.log, 0, b"a", b"b")
        view = rig.log.producers()[0]
        assert (view.producer_id, view.producer_epoch, view.last_sequence, view.last_timestamp_ms) == (9, 0, 1, NOW)
        assert rig.log.expire_producers(NOW + 24 * 3600 * 1000) == 1
        assert put_idempotent(rig.log, 77, b"anything goes").base_offset == 2


class TornFile:
    """A file whose writes fail, half done, until told otherwise."""

    def __init__(self, file: File, *, truncates: bool) -> None:
        self._file = file
        self._truncates = truncates

    def pwrite(self, buffers: Sequence[Buffer], position: int) -> int:
        self._file.pwrite([bytes(buffers[0])[:30]], position)
        raise OSError(errno.ENOSPC, "no space left on device")

    def truncate(self, size: int) -> None:
        if not self._truncates:
            raise OSError(errno.EIO, "input/output error")
        self._file.truncate(size)

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


class TestFailures:
    def test_a_short_write_leaves_nothing(self, rig: Rig) -> None:
        rig.append(b"a")
        put(rig.log, b"b")
        unflushed = rig.log._unflushed
        real = unflushed.active
        assert real is not None
        size = rig.segment_file().stat().st_size
        unflushed.active = TornFile(real, truncates=True)  # type: ignore[assignment]
        with pytest.raises(KafkaError) as raised:
            put_idempotent(rig.log, 0, b"c")
        assert code_of(raised) is ErrorCode.KAFKA_STORAGE_ERROR
        unflushed.active = real
        assert rig.segment_file().stat().st_size == size
        assert rig.log.log_end == 2
        assert rig.log.producers() == []
        rig.append(b"d")
        assert values_of(rig.log) == [b"a", b"b", b"d"]

    def test_if_the_rest_cannot_be_cut_the_log_is_offline(self, rig: Rig) -> None:
        put(rig.log, b"a")
        active = rig.log._unflushed.active
        assert active is not None
        rig.log._unflushed.active = TornFile(active, truncates=False)  # type: ignore[assignment]
        with pytest.raises(KafkaError):
            put(rig.log, b"b")
        rig.log._unflushed.active = active
        assert rig.log.state is LogState.OFFLINE
        rig.reopen(clean=False)
        assert values_of(rig.log) == [b"a"]
        assert rig.names(".cut")

    def test_a_failed_flush_is_final_and_the_tail_is_rewritten_at_the_next_start(self, rig: Rig) -> None:
        rig.append(b"a")
        put(rig.log, b"b")
        rig.log.flush_failed(OSError(errno.EIO, "input/output error"))
        for call in (lambda: put(rig.log, b"c"), lambda: read_all(rig.log)):
            with pytest.raises(KafkaError) as raised:
                call()
            assert code_of(raised) is ErrorCode.KAFKA_STORAGE_ERROR
        rig.log.flush_completed(2)
        assert rig.log.flushed == 1
        inode = rig.segment_file().stat().st_ino
        rig.reopen(clean=False)
        assert rig.segment_file().stat().st_ino != inode
        assert not (rig.directory / "flush-failed").exists()
        assert values_of(rig.log) == [b"a", b"b"]

    def test_a_flipped_bit_is_found_when_first_served(self, tmp_path: Path) -> None:
        rig = small(tmp_path, 1 << 20)
        for index in range(10):
            rig.append(b"value %d" % index)
        rig.reopen(clean=True)
        flip(rig.segment_file(), rig.segment_file().read_bytes().index(b"value 5"))
        assert [record.value for record in iter_records(read_range(rig, 0, 5))] == [b"value %d" % i for i in range(5)]
        with pytest.raises(KafkaError) as raised:
            read_all(rig.log)
        assert code_of(raised) is ErrorCode.CORRUPT_MESSAGE
        assert rig.log.state is LogState.DAMAGED
        assert rig.damage
        assert len(list(iter_records(read_range(rig, 0, 5)))) == 5
        with pytest.raises(KafkaError):
            put(rig.log, b"no more")

    def test_verify_off_serves_what_is_there(self, tmp_path: Path) -> None:
        rig = Rig(tmp_path, verify="off")
        rig.append(b"value")
        rig.reopen(clean=True)
        flip(rig.segment_file(), rig.segment_file().read_bytes().index(b"value"))
        assert len(read_all(rig.log)) == 1


def read_range(rig: Rig, start: int, end: int) -> Buffer:
    return rig.log.read(start, 1 << 20, end=end, one_batch_at_least=True, wait=True).records


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
