"""Archives: every record once, in few files, sorted; what is new is added; and what is wrong is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.bulk.errors import BulkError, Changed, Damaged, Missing
from penstock.client.cluster import Cluster
from penstock.model.batch_builder import NewRecord
from tests.bulk.archiving import DAY_MS, START_MS, abort_some, archive, fill, make_topic, put
from tests.bulk.conftest import Contents
from tests.support.archive_rows import archive_files, archive_rows, assert_sorted
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.topic_contents import Seen


@pytest.mark.feature("S-04")
def test_every_record_with_all_it_has(
    broker: BrokerProcess, client: RawClient, cluster: Cluster, contents: Contents, topic: str, tmp_path: Path
) -> None:
    make_topic(client, topic, 3)
    fill(client, topic, 30, partitions=3, days=3)
    abort_some(cluster, topic)
    result = archive(broker, topic, tmp_path)
    expected = contents(topic)
    assert archive_rows(tmp_path, topic) == expected
    assert result.rows_in_all == len(expected)
    names = [str(path.relative_to(tmp_path)) for path in archive_files(tmp_path)]
    dates = ["2025-11-16", "2025-11-17", "2025-11-18"]
    assert names == [f"topic={topic}/date={date}/part-00000.parquet" for date in dates]
    for path in archive_files(tmp_path):
        assert_sorted(path)


@pytest.mark.feature("S-04")
def test_what_is_new_is_added_to_the_small_file(
    broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, tmp_path: Path
) -> None:
    make_topic(client, topic, 2)
    for seed in range(5):
        fill(client, topic, 6, partitions=2, seed=seed)
        archive(broker, topic, tmp_path)
        assert archive_rows(tmp_path, topic) == contents(topic)
        assert len(archive_files(tmp_path)) == 1
        assert_sorted(archive_files(tmp_path)[0])
    assert pq.ParquetFile(archive_files(tmp_path)[0]).num_row_groups == 2
    before = archive_files(tmp_path)[0].stat()
    archive(broker, topic, tmp_path)
    assert archive_files(tmp_path)[0].stat() == before


def test_large_files_are_left_alone(
    broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, tmp_path: Path
) -> None:
    make_topic(client, topic, 2)
    for seed in range(6):
        fill(client, topic, 20, partitions=2, seed=seed)
        archive(broker, topic, tmp_path, file_bytes=40_000, step_rows_max=100)
    assert archive_rows(tmp_path, topic) == contents(topic)
    sizes = [path.stat().st_size for path in archive_files(tmp_path)]
    assert len(sizes) > 2
    assert sum(size < 30_000 for size in sizes) <= 1
    for path in archive_files(tmp_path):
        assert_sorted(path)


def test_times_that_are_no_dates(broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path) -> None:
    make_topic(client, topic)
    times = [START_MS, START_MS * 1000, START_MS + DAY_MS, 0]
    put(client, topic, [NewRecord(None, str(time).encode(), (), time) for time in times])
    archive(broker, topic, tmp_path)
    folders = [path.parent.name for path in archive_files(tmp_path)]
    assert folders == ["date=1970-01-01", "date=2025-11-16", "date=2025-11-17", "date=__HIVE_DEFAULT_PARTITION__"]
    values = [
        pq.read_table(path, columns=["value"], partitioning=None)["value"].to_pylist()
        for path in archive_files(tmp_path)
    ]
    assert values == [[b"0"], [str(times[0]).encode()], [str(times[2]).encode()], [str(times[1]).encode()]]


def test_two_topics_in_one_directory(
    broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, tmp_path: Path
) -> None:
    for name in (topic, f"{topic}-b"):
        make_topic(client, name)
        put(client, name, [NewRecord(None, name.encode())])
        archive(broker, name, tmp_path)
    for name in (topic, f"{topic}-b"):
        assert archive_rows(tmp_path, name) == contents(name)


def test_an_empty_topic(broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path) -> None:
    make_topic(client, topic)
    assert archive(broker, topic, tmp_path) == (0, 0, 0)
    put(client, topic, [NewRecord(None, b"1")])
    assert archive(broker, topic, tmp_path).rows_in_all == 1


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_topic_that_is_not_there(broker: BrokerProcess, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="topic nowhere does not exist"):
        archive(broker, "nowhere", tmp_path)


def test_another_topic_of_the_same_name(broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path) -> None:
    make_topic(client, topic)
    put(client, topic, [NewRecord(None, b"1")])
    archive(broker, topic, tmp_path)
    client.delete_topic(topic)
    make_topic(client, topic)
    with pytest.raises(Changed, match=r"was created again since .* was begun; archive into another directory"):
        archive(broker, topic, tmp_path)


def test_what_was_removed_unarchived(
    broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, tmp_path: Path
) -> None:
    make_topic(client, topic)
    for number in range(4):
        put(client, topic, [NewRecord(None, b"%d" % number)])
        if number == 0:
            archive(broker, topic, tmp_path)
    wanted = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}]
    client.call("delete_records", 2, topics=wanted, timeout=10_000)
    with pytest.raises(Changed, match=r"begins at 2 now: records from 1 on were removed unarchived.*--skip-missing"):
        archive(broker, topic, tmp_path)
    archive(broker, topic, tmp_path, tolerant=True)
    assert [each.offset for each in archive_rows(tmp_path, topic)] == [0, 2, 3]


@pytest.mark.parametrize("damage", ["cut", "changed", "version"])
def test_a_damaged_manifest(broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path, damage: str) -> None:
    make_topic(client, topic)
    put(client, topic, [NewRecord(None, b"1")])
    archive(broker, topic, tmp_path)
    manifest = tmp_path / "_penstock" / f"{topic}.json"
    text = manifest.read_text()
    assert json.loads(text)["manifest"]["next_offsets"] == {"0": 1}
    changes = {"cut": text[:-20], "changed": text.replace('{"0": 1}', '{"0": 0}'), "version": '{"manifest": {}}'}
    manifest.write_text(changes[damage])
    with pytest.raises(Damaged, match=r"manifest .* is damaged"):
        archive(broker, topic, tmp_path)


def test_a_file_that_is_gone(broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path) -> None:
    make_topic(client, topic)
    put(client, topic, [NewRecord(None, b"1")])
    archive(broker, topic, tmp_path)
    archive_files(tmp_path)[0].unlink()
    with pytest.raises(Damaged, match="is missing, which the manifest names"):
        archive(broker, topic, tmp_path)


def test_two_at_once(broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path) -> None:
    make_topic(client, topic)
    (tmp_path / "_penstock").mkdir()
    lock = tmp_path / "_penstock" / f"{topic}.lock"
    hold = f"import fcntl, sys; f = open({str(lock)!r}, 'w'); fcntl.flock(f, 2); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(BulkError, match="another run archives"):
            archive(broker, topic, tmp_path)
        holder.kill()
    archive(broker, topic, tmp_path)


def test_the_helper_sees_what_is_there(tmp_path: Path) -> None:
    """A guard for the guards: rows in two files are seen twice."""
    import pyarrow as pa

    columns = {"partition": [0], "offset": [5], "key": [b"k"], "value": [b"v"], "headers": [None]}
    table = pa.table({**columns, "timestamp": pa.array([0], pa.timestamp("us", "UTC"))})
    for name in ("a", "b"):
        (tmp_path / "topic=t").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / "topic=t" / f"{name}.parquet")
    assert archive_rows(tmp_path, "t") == [Seen(0, 5, b"k", b"v", 0)] * 2
