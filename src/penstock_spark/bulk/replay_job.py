"""A replay from end to end: archive, topic, marker, transactions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bulk.entry import usable_entry
from penstock.bulk.errors import Unfit
from penstock.bulk.progress import Progress
from penstock.bulk.rows import WHOLE_PIECES, PieceLimits
from penstock.bulk.topics import KEEP_ALL, KnownTopic, find_or_create_topic, time_remarks
from penstock.bulk.transfer import Portion, Transfer
from penstock.client.cluster import Cluster
from penstock.model.counted import counted
from penstock_spark.bulk.archive_reader import Times, read_manifest
from penstock_spark.bulk.manifest import Manifest, find_topic_of
from penstock_spark.bulk.replay import Part, ReplayFeed, chosen_partitions, rows_of
from penstock_spark.bulk.row_packer import RowPacker


@dataclass(frozen=True, kw_only=True)
class ReplayRequest:
    directory: Path
    topic: str
    source_topic: str | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    partitions: tuple[int, ...] | None = None
    keep_partitions: bool = False
    partition_count: int | None = None
    codec: int = 0
    job: str | None = None
    again: bool = False
    limits: PieceLimits = WHOLE_PIECES

    @property
    def part(self) -> Part:
        unbounded = Times()
        start = unbounded.start if self.from_ms is None else self.from_ms
        return Part(Times(start, unbounded.end if self.to_ms is None else self.to_ms), self.partitions)

    def settings(self) -> dict[str, Any]:
        """The settings that must be the same when the job continues, as plain JSON."""
        named = {
            "from": self.from_ms,
            "to": self.to_ms,
            "partitions": None if self.partitions is None else sorted(self.partitions),
            "keep_partitions": self.keep_partitions or None,
        }
        return {name: value for name, value in named.items() if value is not None}

    def job_name(self, source_topic: str) -> str:
        parts = "".join(f" {name} {value}" for name, value in self.settings().items())
        return self.job or f"replay {self.directory.absolute()} {source_topic}{parts} into {self.topic}"


def run_replay(cluster: Cluster, request: ReplayRequest, progress: Progress) -> int:
    """Run a replay. Returns the number of records written by this job, in this run and earlier ones."""
    source_topic = find_topic_of(request.directory, request.source_topic)
    manifest = read_manifest(request.directory, source_topic)
    part = request.part
    wanted = chosen_partitions(manifest, part)
    topic = _target(cluster, request, manifest, max(wanted, default=0) + 1, progress)
    packer = RowPacker(topic, keep_partitions=request.keep_partitions, codec=request.codec)
    job = request.job_name(source_topic)
    feed = ReplayFeed(
        request.directory, manifest, part, topic, packer, request.settings(), job=job, limits=request.limits
    )
    transfer = Transfer(cluster, job)
    entry, remark = usable_entry(transfer.begin(), topic, again=request.again)
    if remark:
        progress.remark(remark)
    progress.begin(rows_of(manifest, part), 0 if entry is None else int(entry.get("rows", 0)))

    def advanced(portion: Portion) -> None:
        progress.advance(portion.rows, feed.rows)

    transfer.run(feed, entry, advanced)
    return feed.rows


def _target(cluster: Cluster, request: ReplayRequest, manifest: Manifest, least: int, progress: Progress) -> KnownTopic:
    count = request.partition_count
    topic, is_new = find_or_create_topic(
        cluster, request.topic, count, KEEP_ALL, default_partitions=len(manifest.next_offsets)
    )
    if is_new:
        made = f"created topic {topic.name} with {counted(topic.partition_count, 'partition')}"
        progress.remark(f"{made}; it keeps everything (retention.ms=-1), since the records are old")
    if request.keep_partitions and topic.partition_count < least:
        hint = "leave out --keep-partitions, or name a topic with as many"
        raise Unfit(
            f"topic {topic.name} has {counted(topic.partition_count, 'partition')}, and the archive {least}", hint
        )
    for remark in () if is_new else time_remarks(cluster, topic):
        progress.remark(remark)
    return topic
