"""Offsets of a streaming query as stored in Spark's checkpoint: plain JSON.

    {"version": 1, "group": "spark-penstock-source-5f…", "splits": {"least": 8, "most": 0},
     "offsets": {"prices": {"0": 120, "1": 90}}, "ids": {"prices": "51f7…"}}

`group` is the consumer group to which the query reports, the same for all of its runs. `splits` says how the batch that
ends here was cut into tasks (`minPartitions`, `maxRecordsPerPartition`; 0: not given), so that a batch which is run
again is cut as before, even if the options have changed. `ids` are those of the topics: offsets mean nothing in a topic
of the same name that was created later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption

VERSION = 1


@dataclass(frozen=True)
class Progress:
    offsets: Mapping[TopicPartition, int]
    group: str
    least_count: int | None = None
    most_records: int | None = None
    ids: Mapping[str, str] = field(default_factory=dict)

    def of_same_topics(self, ids: Mapping[str, str]) -> dict[TopicPartition, int]:
        """The offsets without those in topics that have other ids now. Topics without a known id count as the same."""
        replaced = {topic for topic, known in self.ids.items() if ids.get(topic, known) != known}
        return {place: offset for place, offset in self.offsets.items() if place.topic not in replaced}

    def to_json(self) -> dict[str, Any]:
        topics: dict[str, dict[str, int]] = {}
        for place in sorted(self.offsets):
            topics.setdefault(place.topic, {})[str(place.partition)] = self.offsets[place]
        splits = {"least": self.least_count or 0, "most": self.most_records or 0}
        ids = {topic: self.ids[topic] for topic in topics if topic in self.ids}
        return {"version": VERSION, "group": self.group, "splits": splits, "offsets": topics, "ids": ids}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Progress:
        """Parse a checkpoint. BadOption if it is not one of this source."""
        try:
            if value["version"] != VERSION:
                raise BadOption(f"the checkpoint is of version {value['version']}, this source writes {VERSION}")
            offsets = {
                TopicPartition(topic, int(index)): int(offset)
                for topic, partitions in value["offsets"].items()
                for index, offset in partitions.items()
            }
            splits, ids = value["splits"], dict(value.get("ids", {}))
            return Progress(offsets, str(value["group"]), splits["least"] or None, splits["most"] or None, ids)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, BadOption):
                raise
            text = f"the checkpoint holds {dict(value)!r}, which is not progress of this source: use another directory"
            raise BadOption(text) from None
