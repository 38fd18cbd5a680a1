"""A load from end to end: source, topic, marker, transactions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from penstock.bulk.bad_row_file import BadRowFile
from penstock.bulk.encoding import Shape, encoder
from penstock.bulk.entry import usable_entry
from penstock.bulk.load import LoadFeed
from penstock.bulk.opening import Reading, open_source
from penstock.bulk.packing import Packer
from penstock.bulk.progress import Progress
from penstock.bulk.rows import WHOLE_PIECES, PieceLimits, Source
from penstock.bulk.topics import KEEP_ALL, KnownTopic, find_or_create_topic, time_remarks
from penstock.bulk.transfer import Portion, Transfer
from penstock.client.cluster import Cluster
from penstock.model.counted import counted


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    path: Path
    topic: str
    reading: Reading
    shape: Shape
    partitions: int | None = None
    codec: int = 0
    skip_bad: Path | None = None
    job: str | None = None
    again: bool = False
    limits: PieceLimits = WHOLE_PIECES

    @property
    def job_name(self) -> str:
        if self.job is not None:
            return self.job
        what = f" table {self.reading.table}" if self.reading.table else ""
        if self.reading.query:
            what = f" query {hashlib.sha256(self.reading.query.encode()).hexdigest()[:12]}"
        return f"load {self.path.absolute()}{what} into {self.topic}"

    def settings(self) -> dict[str, Any]:
        """The settings that must be the same when the job continues, as plain JSON."""
        named = {**self.reading._asdict(), **self.shape._asdict()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in named.items() if value}


class LoadResult(NamedTuple):
    rows_in_all: int
    skipped: int


def load(
    cluster: Cluster, request: LoadRequest, open_parquet: Callable[[Path], Source], progress: Progress
) -> LoadResult:
    """Load rows. BulkError, KafkaError or BrokerUnavailable if that fails; committed rows stay."""
    with ExitStack() as stack:
        source = stack.enter_context(open_source(request.path, request.reading, open_parquet))
        encode = encoder(source, request.shape)
        topic = target_topic(cluster, request, progress)
        aside = None
        if request.skip_bad is not None:
            aside = BadRowFile(request.skip_bad, source.row_word)
            stack.callback(aside.close)
        packer = Packer(topic.name, topic.partition_count, request.codec)
        transfer = Transfer(cluster, request.job_name)
        feed = LoadFeed(
            source,
            encode,
            packer,
            topic,
            request.settings(),
            job=request.job_name,
            limits=request.limits,
            aside=aside,
        )
        entry, remark = usable_entry(transfer.begin(), topic, again=request.again)
        if remark:
            progress.remark(remark)
        progress.begin(source.total)

        def advanced(portion: Portion) -> None:
            progress.advance(portion.rows, feed.done)

        transfer.run(feed, entry, advanced)
        return LoadResult(feed.rows, feed.skipped)


def target_topic(cluster: Cluster, request: LoadRequest, progress: Progress) -> KnownTopic:
    """The topic to write to, created with a remark if it does not exist."""
    has_times = request.shape.timestamp is not None
    topic, is_new = find_or_create_topic(cluster, request.topic, request.partitions, KEEP_ALL if has_times else None)
    if is_new:
        kept = "; it keeps everything (retention.ms=-1), since rows with times may be old" if has_times else ""
        progress.remark(f"created topic {topic.name} with {counted(topic.partition_count, 'partition')}{kept}")
    for remark in time_remarks(cluster, topic) if has_times and not is_new else ():
        progress.remark(remark)
    return topic
