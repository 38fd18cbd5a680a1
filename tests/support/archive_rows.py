"""An archive as other programs see it: all Parquet files below a directory, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tests.support.topic_contents import Seen


def archive_rows(directory: Path, topic: str) -> list[Seen]:
    """The rows of a topic that a program gets when it reads the whole directory."""
    if not archive_files(directory):
        return []
    dataset = ds.dataset(directory, format="parquet", partitioning="hive")
    rows = dataset.to_table(filter=ds.field("topic") == topic).to_pylist()
    return sorted(
        Seen(
            row["partition"],
            row["offset"],
            row["key"],
            row["value"],
            round(row["timestamp"].timestamp() * 1000),
            tuple((each["key"], each["value"]) for each in row["headers"] or ()),
        )
        for row in rows
    )


def archive_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("topic=*/**/*.parquet"))


def assert_sorted(path: Path) -> None:
    """Assert that rows are sorted by partition and offset, and that a row group has one partition only."""
    file = pq.ParquetFile(path)
    table = file.read(columns=["partition", "offset"])
    pairs = list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))
    assert pairs == sorted(set(pairs))
    for index in range(file.num_row_groups):
        assert len(set(file.read_row_group(index, columns=["partition"])["partition"].to_pylist())) == 1
