"""From Arrow rows of an archive to record batches, with their times, keys and headers."""

from __future__ import annotations

import pyarrow as pa

from penstock.bulk.topics import KnownTopic
from penstock.model.topic_partition import TopicPartition
from penstock_spark.writing.encoding.encoder import Encoder
from penstock_spark.writing.encoding.outgoing import outgoing


class RowPacker:
    """Packs rows. With `keep_partitions` a record goes to its old partition, otherwise by key as with Java clients."""

    def __init__(self, topic: KnownTopic, *, keep_partitions: bool, codec: int = 0) -> None:
        self._topic = topic.name
        self._names = ["key", "value", "headers", "timestamp", *(["partition"] if keep_partitions else [])]
        self._encoder = Encoder(lambda _: {topic.name: topic.partition_count}, codec, spread=0)

    def pack(self, rows: pa.RecordBatch) -> list[tuple[TopicPartition, bytearray]]:
        columns = {name: rows.column(name) for name in self._names}
        encoded = self._encoder.encode(outgoing(columns, rows.num_rows, self._topic))
        return [(each.place, each.batch) for each in encoded]
