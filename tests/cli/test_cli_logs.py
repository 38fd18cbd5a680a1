"""`penstock log` over directories that a broker could have written, without a broker."""

import json
import uuid
from pathlib import Path

import pytest

from penstock.model.batch_builder import NewRecord, build_batch
from tests.cli.conftest import CommandLine
from tests.support.committed_reader import end_transaction, put_in_transaction
from tests.support.penstock_process import PenstockProcess
from tests.unit.storage.log_rig import Rig

TIME = 1_700_000_000_000


def batch(offset: int, *values: str) -> bytes:
    records = [NewRecord(b"k", value.encode(), (("h", b"1"),)) for value in values]
    return bytes(build_batch(records, timestamp=TIME, base_offset=offset, leader_epoch=3))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with orders-0 (offsets 0 to 5 in two segments) and an empty-handed clicks-1."""
    (tmp_path / "format.json").write_text('{"penstock": 1}')
    for topic, partition, segments in (
        ("orders", 0, {0: batch(0, "a", "b") + batch(2, "c"), 3: batch(3, "d") + batch(4, "e", "f")}),
        ("clicks", 1, {0: batch(0, "x")}),
    ):
        directory = tmp_path / "topics" / topic / uuid.uuid4().hex / str(partition)
        directory.mkdir(parents=True)
        for base, content in segments.items():
            (directory / f"{base:020d}.log").write_bytes(content)
    return tmp_path


def orders(data: Path) -> Path:
    return next((data / "topics" / "orders").glob("*/0"))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x40
    path.write_bytes(content)


def test_batches_and_records_are_shown(alone: CommandLine, data: Path) -> None:
    shown = alone("log", "dump", data, "--topic", "orders", "--records", "--output", "json").json_lines
    batches = [entry for entry in shown if entry["kind"] == "batch"]
    records = [entry for entry in shown if entry["kind"] == "record"]
    assert [(b["first_offset"], b["last_offset"], b["records"]) for b in batches] == [
        (0, 1, 2),
        (2, 2, 1),
        (3, 3, 1),
        (4, 5, 2),
    ]
    assert [(r["offset"], r["value"]) for r in records] == list(enumerate("abcdef"))
    assert records[0]["headers"] == [["h", "1"]]
    assert batches[0]["leader_epoch"] == 3


def test_a_single_segment_or_partition_can_be_shown_from_an_offset(alone: CommandLine, data: Path) -> None:
    segment = orders(data) / f"{3:020d}.log"
    from_file = alone("log", "dump", segment, "--records", "--from", 5)
    assert "value=f" in from_file.out
    assert "value=e" not in from_file.out
    assert "4-5" in from_file.out


def test_a_count_is_of_batches_or_records(alone: CommandLine, data: Path) -> None:
    batches = alone("log", "dump", orders(data), "--count", 3, "-o", "json").json_lines
    assert [(entry["kind"], entry["first_offset"]) for entry in batches] == [("batch", 0), ("batch", 2), ("batch", 3)]
    shown = alone("log", "dump", orders(data), "--count", 3).lines
    assert [line.split()[0] for line in shown if "-" in line.split()[0][1:]] == [
        "orders-0",
        "0-1",
        "2-2",
        "orders-0",
        "3-3",
    ]
    records = alone("log", "dump", orders(data), "--records", "--count", 3, "-o", "json").json_lines
    assert [entry["offset"] for entry in records if entry["kind"] == "record"] == [0, 1, 2]


def test_rows_say_whose_they_are_and_bytes_are_base64(alone: CommandLine, data: Path, tmp_path: Path) -> None:
    segment = next((data / "topics" / "clicks").glob("*/1")) / f"{0:020d}.log"
    segment.write_bytes(bytes(build_batch([NewRecord(b"\x80", b"\xff\x0f", ())], timestamp=TIME, base_offset=0)))
    for path in (segment, segment.parent):
        rows = alone("log", "dump", path, "--records", "-o", "json").json_lines
        assert {(row["topic"], row["partition"]) for row in rows} == {("clicks", 1)}
        assert (rows[1]["key_base64"], rows[1]["value_base64"]) == ("gA==", "/w8=")
        assert not {"key", "value"} & set(rows[1])
    assert "value=\\xff\\x0f" in alone("log", "dump", segment, "--records").out
    copy = tmp_path.parent / f"{tmp_path.name}-copy.bin"
    copy.write_bytes(segment.read_bytes())
    (row,) = alone("log", "dump", copy, "-o", "json").json_lines
    assert (row["topic"], row["partition"]) == (None, None)


def test_a_file_that_is_no_segment_is_refused(alone: CommandLine, data: Path) -> None:
    refused = alone("log", "dump", data / "format.json", code=2)
    assert "is not a segment" in refused.err
    assert refused.out == ""


def test_sound_logs_are_sound(alone: CommandLine, data: Path) -> None:
    assert "2 logs verified: no damage" in alone("log", "verify", data).err
    found = {f"{log['topic']}-{log['partition']}": log for log in alone("log", "verify", data, "-o", "json").json}
    assert {name: (log["sound"], log["log_end"]) for name, log in found.items()} == {
        "orders-0": (True, 6),
        "clicks-1": (True, 1),
    }
    assert "nothing to repair" in alone("log", "repair", data).err


def test_damage_is_found_shown_and_settled_only_when_told(alone: CommandLine, data: Path) -> None:
    segment = orders(data) / f"{0:020d}.log"
    flip(segment, 80)
    before = segment.read_bytes()
    damaged = alone("log", "verify", data, code=5)
    assert "offsets 0 to 1" in damaged.out
    assert "penstock log repair" in damaged.err
    shown = alone("log", "dump", segment, code=5)
    assert "bad bytes" in shown.out
    assert "penstock log verify" in shown.err
    plan = alone("log", "repair", data)
    assert "move aside" in plan.out
    assert "--execute" in plan.err
    assert segment.read_bytes() == before
    alone("log", "repair", data, "--execute")
    alone("log", "verify", data)
    assert list(orders(data).glob("*.damaged"))
    left = alone("log", "dump", data, "-t", "orders", "--records", "-o", "json").json_lines
    assert [entry["value"] for entry in left if entry["kind"] == "record"] == ["c", "d", "e", "f"]


def test_a_running_broker_keeps_repair_out(penstock: CommandLine, node: PenstockProcess, name: str) -> None:
    penstock("produce", name, stdin="x\n")
    assert "a broker is using" in penstock("log", "verify", node.data_directory, "--topic", name).err
    refused = penstock("log", "repair", node.data_directory, "--topic", name, "--execute", code=1)
    assert str(node.pid) in refused.err


def test_what_was_produced_is_in_the_files(penstock: CommandLine, node: PenstockProcess, name: str) -> None:
    penstock("produce", name, "--key", "k", stdin="one\ntwo\n")
    dumped = penstock("log", "dump", node.data_directory, "--topic", name, "--records", "--output", "json")
    assert [entry["value"] for entry in dumped.json_lines if entry["kind"] == "record"] == ["one", "two"]


def test_what_is_not_there_is_not_found(alone: CommandLine, data: Path, tmp_path: Path) -> None:
    alone("log", "verify", tmp_path / "absent", code=4)
    assert "no topic" in alone("log", "verify", data, "--partition", 7, code=4).err
    assert "did you mean orders?" in alone("log", "verify", data, "--topic", "order", code=4).err
    assert "orders-7" in alone("log", "dump", data, "--topic", "orders", "--partition", 7, code=4).err


@pytest.mark.parametrize("command", ["verify", "dump", "repair"])
def test_a_directory_of_another_program_is_refused(
    alone: CommandLine, data: Path, tmp_path_factory: pytest.TempPathFactory, command: str
) -> None:
    """Files that end in .log are everywhere; only those named by an offset are segments."""
    foreign = tmp_path_factory.mktemp("var-log")
    (foreign / "dpkg.log").write_text("2026-03-01 status installed\n")
    (foreign / "20260301.log").write_text("started\n")
    for path in (foreign, data / "topics", tmp_path_factory.mktemp("empty")):
        refused = alone("log", command, path, code=2)
        assert "neither a data directory of Penstock nor the directory of a partition" in refused.err
        assert "format.json" in refused.err
        assert "00000000000000000000.log" in refused.err
        assert refused.out == ""


def test_an_empty_data_directory_has_no_logs(alone: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text('{"penstock": 1}')
    (tmp_path / "topics").mkdir()
    verified = alone("log", "verify", tmp_path)
    assert (verified.out, verified.err) == ("", "there are no logs yet\n")


def test_a_partition_without_segments_is_one_of_ours(alone: CommandLine, data: Path) -> None:
    for segment in orders(data).glob("*.log"):
        segment.unlink()
    assert "1 log verified" in alone("log", "verify", orders(data)).err


def test_json_of_a_damaged_log_says_what_is_lost(alone: CommandLine, data: Path) -> None:
    flip(orders(data) / f"{0:020d}.log", 80)
    found = json.loads(alone("log", "verify", data, "--topic", "orders", "--output", "json", code=5).out)
    assert found[0]["lost"] == [[0, 2]]


@pytest.mark.feature("K-07")
def test_markers_and_aborted_transactions_are_shown(alone: CommandLine, tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    put_in_transaction(rig.log, 9, 0, b"aborted")
    end_transaction(rig.log, 9, commit=False, coordinator_epoch=4)
    put_in_transaction(rig.log, 9, 1, b"committed")
    end_transaction(rig.log, 9, commit=True, coordinator_epoch=4)
    rig.close()
    shown = alone("log", "dump", rig.directory, "-o", "json").json_lines
    markers = [(row["first_offset"], row["marker"], row["coordinator_epoch"]) for row in shown if "marker" in row]
    assert markers == [(1, "abort", 4), (3, "commit", 4)]
    (aborted,) = [row for row in shown if row["kind"] == "aborted"]
    assert [aborted[name] for name in ("producer_id", "first_offset", "last_offset", "last_stable")] == [9, 0, 1, 2]
    lines = alone("log", "dump", rig.directory).lines
    assert lines[-1] == "aborted: producer 9, offsets 0 to 1, last stable offset 2"
    assert any(line.endswith("transactional,control,abort") for line in lines)
    (index,) = rig.directory.glob("*.txnindex")
    for content, state in ((index.read_bytes(), "ok"), (b"short", "missing or stale: is rebuilt when used")):
        index.write_bytes(content)
        (report,) = json.loads(alone("log", "verify", rig.directory, "-o", "json").out)
        assert (report["sound"], report["segments"][0]["aborted_index"]) == (True, state)
    assert "not whole entries; it is rebuilt when used" in alone("log", "dump", rig.directory).lines[-1]
