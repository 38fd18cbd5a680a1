"""An archive from end to end: topic, lock, manifest, steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from penstock.bulk.progress import Progress
from penstock.bulk.topics import require_topic
from penstock.client.cluster import Cluster
from penstock_spark.bulk.archive import Archive, ArchiveSettings, Execute
from penstock_spark.bulk.manifest import ArchiveFile
from penstock_spark.bulk.pieces import PieceTask, Range, write_pieces


class ArchiveResult(NamedTuple):
    rows_in_all: int
    files: int
    size_bytes: int


def run_archive(
    cluster: Cluster,
    topic: str,
    directory: Path,
    settings: ArchiveSettings,
    progress: Progress,
    execute: Execute | None = None,
) -> ArchiveResult:
    """Run an archive. `execute` writes the files; without it, this process does."""
    archive = Archive(directory, require_topic(cluster, topic), settings)
    done = 0

    def here(task: PieceTask, ranges: Sequence[Range]) -> list[ArchiveFile]:
        at = done

        def advanced(rows: int) -> None:
            nonlocal at
            at += rows
            progress.advance(rows, at)

        return write_pieces(task, ranges, advanced)

    with archive.locked():
        progress.begin(archive.plan(cluster))
        for step in archive.steps(execute or here):
            done += step.offsets
            progress.advance(0 if execute is None else step.rows, done)
    manifest = archive.manifest
    return ArchiveResult(manifest.rows, len(manifest.files), manifest.size_bytes)
