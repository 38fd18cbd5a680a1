"""Start offsets: `start` and the target of a seek as offsets of librdkafka."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from penstock.sdk.arguments import INT64_MAX, checked_number
from penstock.sdk.errors import SettingsError
from penstock.sdk.librdkafka.errors import translated
from penstock.sdk.options import Start


def at(library: Consumer, places: Sequence[TopicPartition], start: Start, timeout_s: float) -> list[TopicPartition]:
    """The same partitions with offsets. A time later than the last record is the end."""
    if isinstance(start, datetime.datetime):
        if start.tzinfo is None:
            raise SettingsError(f"{start} is a time without a zone", hint="write datetime(…, tzinfo=UTC)")
        moment_ms = round(start.timestamp() * 1000)
        wanted = [TopicPartition(place.topic, place.partition, moment_ms) for place in places]
        with translated("offsets of a time"):
            return library.offsets_for_times(wanted, timeout_s) if wanted else []
    if isinstance(start, int):
        offset = checked_number(start, "the offset to begin at", 0, INT64_MAX)
    elif start in ("earliest", "latest"):
        offset = OFFSET_BEGINNING if start == "earliest" else OFFSET_END
    else:
        raise SettingsError(f"{start!r} is not a place to begin", hint='give "earliest", "latest", an offset or a time')
    return [TopicPartition(place.topic, place.partition, offset) for place in places]


def uncommitted_at(
    library: Consumer, places: Sequence[TopicPartition], start: Start, timeout_s: float
) -> list[TopicPartition]:
    """Partitions with a committed offset begin there, all others at `start`."""
    with translated("committed offsets"):
        known = library.committed([TopicPartition(place.topic, place.partition) for place in places], timeout_s)
    fresh = [place for place in known if place.offset < 0]
    return [place for place in known if place.offset >= 0] + at(library, fresh, start, timeout_s)
