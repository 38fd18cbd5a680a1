"""Large outputs of tasks in files beside the driver: what goes in comes out, nothing stays, and a topic helps out."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.companion.stages import Stages
from penstock_spark.errors import DataLost
from penstock_spark.writing.large_output import LargeOutput
from penstock_spark.writing.stage_files import MARK, StageDirectory
from penstock_spark.writing.task_output import TaskOutput, gathered
from tests.support.full_disk import files_of_at_most

BATCHES = [(TopicPartition(f"topic-{number % 3}", number), bytes([number]) * 50_000) for number in range(20)]


@pytest.fixture
def stages(tmp_path: Path) -> Iterator[Stages]:
    found = Stages()
    yield found
    found.close()
    assert not list(tmp_path.glob("penstock-stage-*")), "nothing is left behind"


def put_all(cluster: Cluster, directory: StageDirectory | None) -> TaskOutput:
    large, output = LargeOutput(cluster, 0, directory), TaskOutput(None)
    for place, batch in BATCHES:
        large.put(place, bytearray(batch))
    large.finish(output)
    return output


def contents(cluster: Cluster, output: TaskOutput) -> list[tuple[TopicPartition, bytes]]:
    return [(place, bytes(batch)) for place, batch in gathered(cluster, [output])]


@pytest.mark.feature("S-02", "X-02")
def test_what_is_in_a_file_comes_back_in_order_and_more_than_once(
    cluster: Cluster, stages: Stages, tmp_path: Path
) -> None:
    number, directory = stages.open(str(tmp_path))
    assert directory is not None
    output = put_all(cluster, directory)
    assert output.file is not None
    assert (output.stage, output.batches) == (None, [])
    for _ in range(2):  # a transaction that has to begin again reads it again
        assert contents(cluster, output) == BATCHES
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (Path(output.file), directory.path, Path(directory.root))]
    assert modes == [0o600, 0o700, 0o700]
    stages.remove(number)
    assert [path.name for path in Path(directory.root).iterdir()] == [MARK]


def test_writes_do_not_remove_files_of_others(cluster: Cluster, stages: Stages, tmp_path: Path) -> None:
    (first, _), (_, directory) = stages.open(str(tmp_path)), stages.open(str(tmp_path))
    output = put_all(cluster, directory)
    stages.remove(first)
    assert contents(cluster, output) == BATCHES


@pytest.mark.parametrize("other", ["no directory", "another mark", "a write that has ended"])
def test_a_task_that_does_not_see_the_driver_s_files_uses_the_topic(
    cluster: Cluster, stages: Stages, tmp_path: Path, other: str
) -> None:
    number, directory = stages.open(str(tmp_path))
    assert directory is not None
    match other:
        case "no directory":
            directory = directory._replace(root=str(tmp_path / "elsewhere"))
        case "another mark":
            directory = directory._replace(mark="of another driver")
        case _:
            stages.remove(number)
    output = put_all(cluster, directory)
    assert output.file is None
    assert contents(cluster, output) == BATCHES


def test_a_disk_that_takes_no_more_sends_everything_to_the_topic(
    cluster: Cluster, stages: Stages, tmp_path: Path
) -> None:
    _, directory = stages.open(str(tmp_path))
    assert directory is not None
    with files_of_at_most(275_000):  # in the middle of a batch
        output = put_all(cluster, directory)
    assert output.file is None
    assert not list(directory.path.iterdir())
    assert contents(cluster, output) == BATCHES


def test_a_driver_without_a_place_for_files_has_none(stages: Stages, tmp_path: Path) -> None:
    assert stages.open(str(tmp_path / "missing"))[1] is None


def test_a_file_that_is_gone_or_cut_is_told(cluster: Cluster, stages: Stages, tmp_path: Path) -> None:
    _, directory = stages.open(str(tmp_path))
    output = put_all(cluster, directory)
    assert output.file is not None
    path = Path(output.file)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataLost, match="shorter; the batch runs again"):
        contents(cluster, output)
    path.unlink()
    with pytest.raises(DataLost, match="is gone; the batch runs again"):
        contents(cluster, output)
