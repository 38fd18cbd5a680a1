"""Group commit over real and failing files, with the smallest thing that can be flushed."""

from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.runtime.files import File, Files, RealFiles
from penstock.storage.flush import group_commit
from penstock.storage.flush.flushable import Flushable
from penstock.storage.flush.group_commit import FlushMode, GroupCommit
from penstock.storage.flush.sync_cost import LoopSync, SyncCost
from penstock.storage.log.unflushed_files import DirectoryEntry
from penstock.storage.observer import SilentObserver
from penstock.testing.faulty_files import FaultyFiles, Kind
from tests.support.fixed_threshold import FixedThreshold


class Loop:
    """Calls brought onto one thread, in order: what a test needs of an event loop."""

    def __init__(self) -> None:
        self._calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._arrived = threading.Semaphore(0)

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        self._calls.append((function, args))
        self._arrived.release()

    def run_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert self._arrived.acquire(timeout=10), "nothing happened for 10 s"
            function, args = self._calls.popleft()
            function(*args)


class OneFile:
    """A file that counts what was written to it as offsets."""

    def __init__(self, files: Files, path: Path) -> None:
        self.file: File = files.open(path, create=True)
        self.log_end = 0
        self.flushed = 0
        self.visible = 0
        self.is_let_go = False
        self.error: OSError | None = None

    def append(self, commit: GroupCommit) -> None:
        self.file.pwrite([b"x"], self.log_end)
        self.log_end += 1
        commit.mark(self)

    def flush_targets(self) -> tuple[int, list[File]]:
        return self.log_end, [self.file]

    def flush_completed(self, end: int) -> None:
        self.flushed = max(self.flushed, end)

    def flush_failed(self, error: OSError) -> None:
        self.error = error

    def note_written(self) -> None:
        self.visible = self.log_end

    def let_go(self) -> None:
        self.is_let_go = True


class Figures(SilentObserver):
    def __init__(self) -> None:
        self.rounds: list[tuple[int, int, bool]] = []

    def flush_round(self, seconds: float, logs: int, files: int, failed: bool = False) -> None:
        assert seconds >= 0
        self.rounds.append((logs, files, failed))


@pytest.mark.feature("X-01")
def test_what_is_marked_gets_flushed(tmp_path: Path) -> None:
    loop, figures = Loop(), Figures()
    commit = GroupCommit(RealFiles(), tmp_path, observer=figures)
    told: list[Flushable] = []
    commit.start(told.append, loop.call_soon)
    logs = [OneFile(RealFiles(), tmp_path / str(index)) for index in range(5)]
    for _ in range(3):
        for log in logs:
            log.append(commit)
    loop.run_until(lambda: all(log.flushed == 3 for log in logs))
    assert set(told) == set(logs)
    assert sum(files for _, files, _ in figures.rounds) >= 5
    commit.stop()


@pytest.mark.feature("X-01")
def test_one_sync_a_round(tmp_path: Path) -> None:
    files = FaultyFiles(tmp_path)
    commit = GroupCommit(files, tmp_path, cost=FixedThreshold(3))
    commit.start(lambda log: None, lambda *_: None, in_thread=False)
    logs = [OneFile(files, tmp_path / str(index)) for index in range(10)]

    def syncs(count: int) -> list[Kind]:
        for log in logs[:count]:
            log.append(commit)
        before = len(files.changes)
        assert commit.run_round()
        assert all(log.flushed < log.log_end for log in logs[:count])
        commit.finish_rounds()
        assert all(log.flushed == log.log_end for log in logs)
        return [change.kind for change in files.changes[before:]]

    assert syncs(1) == [Kind.SYNC]
    assert syncs(3) == [Kind.SYNC] * 3
    assert syncs(10) == [Kind.SYNC_ALL]
    assert not commit.run_round()
    commit.stop()


def test_marks_during_a_round_form_the_next(tmp_path: Path) -> None:
    commit = GroupCommit(RealFiles(), tmp_path)
    commit.start(lambda log: None, lambda *_: None, in_thread=False)
    log = OneFile(RealFiles(), tmp_path / "a")
    log.append(commit)
    commit.run_round()
    log.append(commit)
    commit.finish_rounds()
    assert (log.flushed, log.log_end) == (1, 2)
    commit.run_round()
    commit.finish_rounds()
    assert log.flushed == 2
    commit.stop()


@pytest.mark.feature("X-01")
@pytest.mark.parametrize("threshold", [0, 99])
def test_a_failure_finds_its_log_and_spares_the_others(tmp_path: Path, threshold: int) -> None:
    files = FaultyFiles(tmp_path)
    commit = GroupCommit(files, tmp_path, cost=FixedThreshold(threshold))
    commit.start(lambda log: None, lambda *_: None, in_thread=False)
    logs = [OneFile(files, tmp_path / name) for name in ("good", "bad", "fine")]
    files.fail(Kind.SYNC_ALL, errno.EIO)
    files.fail(Kind.SYNC, errno.EIO, path="bad")
    for log in logs:
        log.append(commit)
    commit.run_round()
    commit.finish_rounds()
    assert [log.flushed for log in logs] == [1, 0, 1]
    assert [log.error is None for log in logs] == [True, False, True]
    commit.stop()


class NewFile(OneFile):
    """One whose name is new in its directory."""

    def __init__(self, files: Files, path: Path) -> None:
        super().__init__(files, path)
        self._entry = DirectoryEntry(files, path.parent, self.file)

    def flush_targets(self) -> tuple[int, list[File]]:
        return self.log_end, [self.file, self._entry]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_directory_that_finds_no_descriptor_is_synced_with_everything(tmp_path: Path, number: int) -> None:
    files = FaultyFiles(tmp_path)
    commit = GroupCommit(files, tmp_path, cost=FixedThreshold(99))
    commit.start(lambda log: None, lambda *_: None, in_thread=False)
    logs = [NewFile(files, tmp_path / name) for name in ("new", "bad", "fine")]
    files.fail(Kind.SYNC_DIRECTORY, number, times=2)
    files.fail(Kind.SYNC, errno.EIO, path="bad")
    for log in logs:
        log.append(commit)
    commit.run_round()
    assert files.changes[-1].kind is Kind.SYNC_ALL
    commit.finish_rounds()
    assert [log.flushed for log in logs] == [1, 0, 1]
    assert [log.error is None for log in logs] == [True, False, True]
    commit.stop()


@pytest.mark.parametrize("threshold", [0, 99])
def test_no_descriptor_and_a_failed_sync_of_everything_are_a_failure(tmp_path: Path, threshold: int) -> None:
    """Whichever comes first: syncfs tells of an error once, so that the next one proves nothing."""
    files = FaultyFiles(tmp_path)
    commit = GroupCommit(files, tmp_path, cost=FixedThreshold(threshold))
    commit.start(lambda log: None, lambda *_: None, in_thread=False)
    log = NewFile(files, tmp_path / "new")
    files.fail(Kind.SYNC_DIRECTORY, errno.EMFILE)
    files.fail(Kind.SYNC_ALL, errno.EIO)
    log.append(commit)
    commit.run_round()
    commit.finish_rounds()
    assert log.flushed == 0
    assert log.error is not None
    commit.stop()


def test_a_listener_that_fails_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    commit = GroupCommit(RealFiles(), tmp_path)
    logs = [OneFile(RealFiles(), tmp_path / str(index)) for index in range(3)]

    def listen(log: Flushable) -> None:
        assert log is not logs[0]

    commit.start(listen, lambda *_: None, in_thread=False)
    for log in logs:
        log.append(commit)
    commit.run_round()
    commit.finish_rounds()
    assert [log.flushed for log in logs] == [1, 1, 1]
    commit.stop()


def test_interval_is_visible_at_once_and_synced_later(tmp_path: Path) -> None:
    loop = Loop()
    commit = GroupCommit(RealFiles(), tmp_path, mode=FlushMode.INTERVAL, interval_ms=3_600_000)
    commit.start(lambda log: None, loop.call_soon)
    log = OneFile(RealFiles(), tmp_path / "a")
    log.append(commit)
    loop.run_until(lambda: log.visible == 1)
    assert log.flushed == 0
    commit.stop()
    assert log.flushed == 1


def test_interval_syncs_by_itself(tmp_path: Path) -> None:
    loop = Loop()
    commit = GroupCommit(RealFiles(), tmp_path, mode=FlushMode.INTERVAL, interval_ms=1)
    commit.start(lambda log: None, loop.call_soon)
    log = OneFile(RealFiles(), tmp_path / "a")
    log.append(commit)
    loop.run_until(lambda: log.flushed == 1)
    commit.stop()


def test_interval_syncs_before_its_time_when_many_files_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_INTERVAL_LOGS_MAX", 3)
    loop = Loop()
    commit = GroupCommit(RealFiles(), tmp_path, mode=FlushMode.INTERVAL, interval_ms=3_600_000)
    commit.start(lambda log: None, loop.call_soon)
    logs = [OneFile(RealFiles(), tmp_path / str(index)) for index in range(3)]
    for log in logs:
        log.append(commit)
    loop.run_until(lambda: all(log.flushed == 1 for log in logs))
    commit.stop()


def test_os_mode_syncs_nothing(tmp_path: Path) -> None:
    loop, files = Loop(), FaultyFiles(tmp_path)
    commit = GroupCommit(files, tmp_path, mode=FlushMode.OS)
    commit.start(lambda log: None, loop.call_soon)
    log = OneFile(files, tmp_path / "a")
    log.append(commit)
    loop.run_until(lambda: log.visible == 1)
    commit.stop()
    assert (log.flushed, log.is_let_go) == (0, True), "nobody knows that it is on disk"
    assert [change.kind for change in files.changes] == [Kind.CREATE, Kind.WRITE]


def test_a_forgotten_log_is_let_go_after_the_round_that_holds_it(tmp_path: Path) -> None:
    commit = GroupCommit(RealFiles(), tmp_path)
    commit.start(lambda log: None, lambda *_: None, in_thread=False)
    log = OneFile(RealFiles(), tmp_path / "a")
    gone: list[str] = []
    log.append(commit)
    commit.forget(log, lambda: gone.append("before any round"))
    assert gone == ["before any round"]
    assert not commit.run_round()
    log.append(commit)
    commit.run_round()
    commit.forget(log, lambda: gone.append("after the round"))
    assert len(gone) == 1
    commit.finish_rounds()
    assert len(gone) == 2
    commit.stop()


def test_stop_flushes_what_is_left(tmp_path: Path) -> None:
    commit = GroupCommit(RealFiles(), tmp_path)
    commit.start(lambda log: None, lambda *_: None)  # a loop that runs nothing any more
    log = OneFile(RealFiles(), tmp_path / "a")
    log.append(commit)
    commit.stop()
    assert log.flushed == 1


def test_the_cheaper_sync_is_chosen() -> None:
    cost = SyncCost()
    assert [cost.prefers_all(count) for count in (0, 1, 2, 50)] == [False, False, True, True]
    for _ in range(20):
        cost.took_all(0.5)  # a neighbour writes a lot
    assert [cost.prefers_all(count) for count in (2, 50, 65)] == [False, False, True]
    for _ in range(5000):
        cost.took_each(2, 0.0008)
    assert cost.prefers_all(2)


class Turns:
    """An event loop whose turns are taken one by one."""

    def __init__(self) -> None:
        self.due: deque[Callable[[], None]] = deque()

    def call_next(self, function: Callable[[], None]) -> None:
        self.due.append(function)

    def take(self) -> None:
        for _ in range(len(self.due)):
            self.due.popleft()()


def loop_commit(tmp_path: Path) -> tuple[GroupCommit, Turns, Loop, Figures, list[str]]:
    turns, loop, figures, told = Turns(), Loop(), Figures(), list[str]()
    commit = GroupCommit(RealFiles(), tmp_path, observer=figures)
    commit.start(
        lambda log: told.append("log"),
        loop.call_soon,
        call_next=turns.call_next,
        after_round=lambda: told.append("end of round"),
    )
    return commit, turns, loop, figures, told


@pytest.mark.feature("F-12")
def test_a_few_small_writes_are_synced_by_the_loop_after_one_more_look(tmp_path: Path) -> None:
    commit, turns, _, figures, told = loop_commit(tmp_path)
    log = OneFile(RealFiles(), tmp_path / "a")
    log.append(commit)
    turns.take()
    assert log.flushed == 0
    log.append(commit)  # a request that was there already
    turns.take()
    assert log.flushed == 0
    turns.take()
    assert log.flushed == 2
    assert figures.rounds == [(1, 1, False)]
    assert told == ["log", "end of round"]
    assert not turns.due
    commit.stop()


@pytest.mark.parametrize(("writes", "size"), [(40, 10), (1, 1 << 20)])
def test_much_is_synced_by_the_thread(tmp_path: Path, writes: int, size: int) -> None:
    commit, turns, loop, _, told = loop_commit(tmp_path)
    log = OneFile(RealFiles(), tmp_path / "a")
    for _ in range(writes):
        log.append(commit)
        commit.mark(log, size)
    turns.take()
    assert not turns.due, "it looks for more only while there is little"
    loop.run_until(lambda: log.flushed == writes)
    assert told[-1] == "end of round"
    commit.stop()


def test_several_files_are_synced_by_the_thread(tmp_path: Path) -> None:
    """The loop must not be the one who waits for what others have written to the file system."""
    commit, turns, loop, _, _ = loop_commit(tmp_path)
    logs = [OneFile(RealFiles(), tmp_path / str(index)) for index in range(2)]
    for log in logs:
        log.append(commit)
    for _ in range(4):
        turns.take()
    assert not any(log.flushed for log in logs), "only the thread may have synced, and nobody has been told yet"
    loop.run_until(lambda: all(log.flushed for log in logs))
    commit.stop()


@pytest.mark.parametrize("mode", [FlushMode.INTERVAL, FlushMode.OS])
def test_where_nobody_waits_for_a_sync_the_loop_makes_none(tmp_path: Path, mode: FlushMode) -> None:
    files, turns = FaultyFiles(tmp_path), Turns()
    commit = GroupCommit(files, tmp_path, mode=mode, interval_ms=3_600_000)
    commit.start(lambda log: None, lambda *_: None, call_next=turns.call_next)
    log = OneFile(files, tmp_path / "a")
    for _ in range(3):
        log.append(commit)
        for _ in range(3):
            turns.take()
    assert max(log.visible, log.flushed) == 3
    assert not any(change.kind in (Kind.SYNC, Kind.SYNC_ALL) for change in files.changes)
    commit.stop()


def test_a_slow_disk_is_left_to_the_thread() -> None:
    now = 100.0
    sync = LoopSync()
    assert sync.allows(now)
    sync.took(0.0001, now)
    assert sync.allows(now)
    sync.took(0.05, now)
    assert not sync.allows(now + 4.9)
    assert sync.allows(now + 5.1)


def test_the_thread_goes_on_with_what_comes_while_it_works(tmp_path: Path) -> None:
    """Never two rounds at once: while the thread has one, marks are its next."""
    commit, turns, loop, figures, _ = loop_commit(tmp_path)
    logs = [OneFile(RealFiles(), tmp_path / str(index)) for index in range(4)]
    for turn in range(200):
        for log in logs[: 1 + turn % 4]:
            log.append(commit)
        turns.take()
    while turns.due:
        turns.take()
    loop.run_until(lambda: all(log.flushed == log.log_end for log in logs))
    assert sum(logs for logs, _, _ in figures.rounds) >= 4
    commit.stop()
