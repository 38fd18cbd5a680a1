"""Offsets of a streaming query as stored in Spark's checkpoint, in the form of Spark's own Kafka source.

    {"prices": {"0": 120, "1": 90}, "/penstock/2?group=spark-penstock-source-5f…&id=prices:51f7…": {}}

So a checkpoint of that source is one of ours, and the other way round. What it has no place for is in one more key: no
topic has a slash in its name, and a topic without partitions means nothing to the other source. There are:

    group         the consumer group to which the query reports, the same for all of its runs
    least, most   how the batch that ends here was cut into tasks (`minPartitions`, `maxRecordsPerPartition`), so that a
                  batch which is run again is cut as before, even if the options have changed
    id            topic:id, since offsets mean nothing in a topic of the same name that was created later
    from          topic:partition:offset, where the first batch of the query began: nothing else in a checkpoint says so
    begin         this is the start of a query and not the end of a batch; it is never stored

Earlier versions wrote {"version": 1, "group": …, "splits": …, "offsets": …, "ids": …}, which is still read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption

VERSION = 2
_OURS = "/penstock/"
Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Progress:
    offsets: Offsets
    group: str
    """Empty in a checkpoint of Spark's own source."""
    least_count: int | None = None
    most_records: int | None = None
    ids: Mapping[str, str] = field(default_factory=dict)
    began: Offsets | None = None
    """The start of the batch that ends here, if it is the first one."""
    is_begin: bool = False

    @property
    def is_ours(self) -> bool:
        return bool(self.group)

    def of_same_topics(self, ids: Mapping[str, str]) -> dict[TopicPartition, int]:
        """The offsets without those in topics that have other ids now. Topics without a known id count as the same."""
        replaced = {topic for topic, known in self.ids.items() if ids.get(topic, known) != known}
        return {place: offset for place, offset in self.offsets.items() if place.topic not in replaced}

    def to_json(self) -> dict[str, Any]:
        result: dict[str, dict[str, int]] = {}
        for place in sorted(self.offsets):
            result.setdefault(place.topic, {})[str(place.partition)] = self.offsets[place]
        if self.is_ours:
            result[f"{_OURS}{VERSION}?{urlencode(self._more(result), safe=':')}"] = {}
        return result

    def _more(self, topics: Mapping[str, Any]) -> list[tuple[str, Any]]:
        more: list[tuple[str, Any]] = [("group", self.group)]
        more += [("least", self.least_count)] if self.least_count else []
        more += [("most", self.most_records)] if self.most_records else []
        more += [("id", f"{topic}:{self.ids[topic]}") for topic in topics if topic in self.ids]
        more += [("from", f"{place.topic}:{place.partition}:{at}") for place, at in sorted((self.began or {}).items())]
        return [*more, ("begin", 1)] if self.is_begin else more

    @staticmethod
    def from_json(value: Any) -> Progress:
        """Parse a checkpoint. BadOption if it is none of this source, or of Spark's own."""
        try:
            if "version" in value and not isinstance(value["version"], dict):
                return _first_version(value)
            ours = [key for key in value if key.startswith("/")]
            offsets = _offsets({topic: at for topic, at in value.items() if topic not in ours})
            return _with_more(offsets, ours[0]) if ours else Progress(_not_empty(offsets), "")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, BadOption):
                raise
            raise BadOption(
                f"the checkpoint holds {value!r}, which is no progress in topics: it is of another source. Give this "
                "query a checkpointLocation of its own"
            ) from None


def _offsets(topics: Mapping[str, Mapping[str, Any]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(index)): int(offset)
        for topic, partitions in topics.items()
        for index, offset in partitions.items()
    }


def _not_empty(offsets: Offsets) -> Offsets:
    if not offsets:
        raise ValueError
    return offsets


def _with_more(offsets: Offsets, key: str) -> Progress:
    name, _, query = key.partition("?")
    if name != f"{_OURS}{VERSION}":
        raise _newer(name.removeprefix(_OURS))
    more = parse_qsl(query, strict_parsing=True)
    said = dict(more)
    began = [text.split(":") for name, text in more if name == "from"]
    return Progress(
        offsets,
        said["group"],
        int(said["least"]) if "least" in said else None,
        int(said["most"]) if "most" in said else None,
        dict(text.split(":") for name, text in more if name == "id"),
        {TopicPartition(topic, int(index)): int(at) for topic, index, at in began} if began else None,
        "begin" in said,
    )


def _first_version(value: Mapping[str, Any]) -> Progress:
    if value["version"] != 1:
        raise _newer(value["version"])
    splits, ids = value["splits"], dict(value.get("ids", {}))
    offsets = _offsets(value["offsets"])
    return Progress(offsets, str(value["group"]), splits["least"] or None, splits["most"] or None, ids)


def _newer(version: object) -> BadOption:
    return BadOption(f"the checkpoint is of version {version}, this source writes {VERSION}: use a newer Penstock")
