"""Histories in files: of two notes the later holds, and what a dying client cut off is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.testing.consistency.history import Outcome, Write
from penstock.testing.consistency.history_file import Recorder, now, read_history, read_operations, to_line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "client.jsonl"


def a_write(recorder: Recorder) -> Write:
    return Write(
        client=recorder.client,
        number=recorder.number(),
        started=now(),
        topic="t",
        partition_index=0,
        value=f"v{now()}",
    )


def test_the_last_note_of_an_operation_holds(path: Path) -> None:
    recorder = Recorder(path, "client")
    first, second = a_write(recorder), a_write(recorder)
    recorder.note(first, second)
    answered = replace(first, outcome=Outcome.OK, offset=7, ended=now())
    recorder.note(answered)
    recorder.close()
    assert read_operations(path) == [answered, second]


def test_what_was_tried_and_not_answered_is_unknown(path: Path) -> None:
    recorder = Recorder(path, "client")
    recorder.note(a_write(recorder))
    recorder.close()
    (write,) = read_history([path]).writes.values()
    assert write.outcome is Outcome.UNKNOWN


def test_a_line_that_was_cut_off_is_left_out(path: Path) -> None:
    recorder = Recorder(path, "client")
    write = a_write(recorder)
    recorder.note(write)
    recorder.close()
    with path.open("a") as file:
        file.write(to_line(a_write(recorder))[:40])
    assert read_operations(path) == [write]
