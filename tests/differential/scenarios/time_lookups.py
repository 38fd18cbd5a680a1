"""ListOffsets by time and by mark, and OffsetForLeaderEpoch: at the edges of batches, inside them, and beyond."""

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.topics import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    PENDING_UPLOAD,
    T0,
    create,
    delete_records,
    list_offset,
    produce,
    values,
)
from tests.support.batches import CODEC_GZIP, CODEC_LZ4, CODEC_SNAPPY, CODEC_ZSTD, Record, batch


def _at(*offsets: int, **overrides: Any) -> bytes:
    """One batch whose records are so long after T0."""
    return batch([Record(value=b"v", timestamp_ms=T0 + each) for each in offsets], **overrides)


@script("time-batches", seconds=2, family="time-lookups")
def batches(peer: Peer) -> None:
    """Times before, at, between and after those of batches and of the records in them."""
    for codec in (0, CODEC_GZIP, CODEC_SNAPPY, CODEC_LZ4, CODEC_ZSTD):
        topic = create(peer, f"batches-{codec}")
        list_offset(peer, topic, T0, 0, MAX_TIMESTAMP)
        produce(peer, topic, _at(100, 200, 300, codec=codec))
        produce(peer, topic, _at(400, codec=codec))
        produce(peer, topic, _at(400, 400, 500, codec=codec))
        produce(peer, topic, _at(450, 350, 600, 550, codec=codec))
        produce(peer, topic, _at(50, codec=codec))
        moments = (0, 99, 100, 101, 200, 250, 300, 301, 350, 400, 401, 450, 451, 500, 501, 551, 600, 601, 10_000)
        for moment in moments:
            list_offset(peer, topic, T0 + moment)
        list_offset(peer, topic, 0, 1, 1 << 62, MAX_TIMESTAMP)


@script("time-versions", seconds=2, family="time-lookups")
def versions(peer: Peer) -> None:
    """Every mark at every version, in an empty log, a full one, and one whose begin is gone."""
    topic = create(peer, "versions", partitions=2)
    missing = peer.name("missing")

    def look(label: str) -> None:
        for version in range(1, 12):
            for mark in (LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD, -7, -100):
                list_offset(peer, topic, mark, version=version, label=f"{label}, {mark}")
            list_offset(peer, topic, T0 + 2, version=version, label=f"{label}, by time")
            if version >= 2:
                list_offset(peer, topic, LATEST, T0 + 2, MAX_TIMESTAMP, version=version, isolation=1, label=label)

    look("empty")
    produce(peer, topic, _at(1, 2, 3))
    produce(peer, topic, _at(9, 4))
    look("full")
    delete_records(peer, topic, 2)
    look("begins at 2")
    for version in (1, 4, 7, 11):
        list_offset(peer, topic, LATEST, T0, partition=1, version=version)
        list_offset(peer, topic, LATEST, T0, partition=2, version=version)
        list_offset(peer, topic, LATEST, partition=-1, version=version)
        list_offset(peer, missing, LATEST, T0, -7, version=version)


@script("time-below-log-start", seconds=2, family="time-lookups")
def below_log_start(peer: Peer) -> None:
    """A time whose record was deleted finds the first one that is left."""
    topic = create(peer, "deleted")
    produce(peer, topic, _at(1, 2, 3))
    produce(peer, topic, _at(4, 5, 6))
    produce(peer, topic, _at(2))
    for before in (1, 3, 4, 6):
        delete_records(peer, topic, before)
        for moment in (0, 1, 2, 3, 4, 5, 6, 7):
            list_offset(peer, topic, T0 + moment, label=f"{moment}, begins at {before}")
    delete_records(peer, topic, 7)
    list_offset(peer, topic, T0, EARLIEST, LATEST)


@script("time-stamped", seconds=2, family="time-lookups")
def stamped(peer: Peer) -> None:
    """LogAppendTime: all records of a batch have its time, and the first one is found."""
    topic = create(peer, "stamped", message_timestamp_type="LogAppendTime")
    produce(peer, topic, _at(1, 2, 3))
    list_offset(peer, topic, 0, T0 + 2, T0 + 10, MAX_TIMESTAMP, 1 << 60)
    produce(peer, topic, _at(1, 2, 3, codec=CODEC_LZ4))
    list_offset(peer, topic, T0 + 2)


@script("time-none", seconds=2, family="time-lookups")
def none(peer: Peer) -> None:
    """Records without a timestamp, alone and among others."""
    topic = create(peer, "none")
    produce(peer, topic, values("a", at=-1))
    list_offset(peer, topic, 0, MAX_TIMESTAMP, T0)
    produce(peer, topic, _at(5))
    produce(peer, topic, values("b", at=-1))
    list_offset(peer, topic, 0, T0, T0 + 5, T0 + 6, MAX_TIMESTAMP)
    produce(peer, topic, values("c", at=0))
    list_offset(peer, topic, 0, MAX_TIMESTAMP)


@script("time-epoch-fences", seconds=1, family="time-lookups")
def epoch_fences(peer: Peer) -> None:
    """The leader epoch that a client believes in, in ListOffsets and OffsetForLeaderEpoch."""
    topic = create(peer, "epochs")
    produce(peer, topic, _at(1, 2, 3))
    for version in (4, 7, 11):
        for epoch in (-1, 0, 1, 7, -2):
            part = {"partition_index": 0, "current_leader_epoch": epoch, "timestamp": LATEST}
            body = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [part]}]}
            peer.ask("list_offsets", version, body, label=f"epoch {epoch}")
    for version in (2, 3, 4):
        for current in (-1, 0, 1):
            for asked in (-2, -1, 0, 1, 5):
                part = {"partition": 0, "current_leader_epoch": current, "leader_epoch": asked}
                rows = [{"topic": topic, "partitions": [part, part | {"partition": 3}]}]
                body = {"replica_id": -2, "topics": [*rows, {"topic": peer.name("missing"), "partitions": [part]}]}
                peer.ask("offset_for_leader_epoch", version, body, label=f"{asked}, current {current}")


@script("time-segments", seconds=3, family="time-lookups")
def segments(peer: Peer) -> None:
    """Look-ups over several segments, in order and out of order."""
    topic = create(peer, "segments", segment_ms="1000", segment_index_bytes="1000", index_interval_bytes="1")
    for moment in (0, 2_000, 4_000, 3_000, 9_000, 1_000, 12_000):
        produce(peer, topic, _at(moment, moment + 1, moment + 2))
    for moment in (0, 2, 3, 2_000, 2_003, 3_001, 4_001, 4_003, 8_999, 9_000, 9_003, 12_002, 12_003):
        list_offset(peer, topic, T0 + moment)
    list_offset(peer, topic, MAX_TIMESTAMP)
    list_offset(peer, topic, EARLIEST, version=1)
