"""The options that act: those of Spark's connector under their names, and our own."""

from __future__ import annotations

from penstock.client.security.properties import NAMES
from penstock_spark.options.option import Option, batches, both, reads, streams, writes

BROKERS = (
    both("kafka.bootstrap.servers", "required", "`host:port,host:port`"),
    both("kafka.client.id", "`penstock-spark`", "the name of this client in quotas and logs"),
    both("kafka.request.timeout.ms", "30000", "how long to wait for one answer of a broker"),
    both("kafka.default.api.timeout.ms", "60000", "how long to try when brokers do not answer"),
    both("kafka.retry.backoff.ms", "20", "the pause before a request is sent again; it doubles each time"),
    both("kafka.retry.backoff.max.ms", "1000", "the longest of these pauses"),
    both("kafka.reconnect.backoff.ms", "1000", "how long a broker that was away three times is not asked; it doubles"),
    both("kafka.reconnect.backoff.max.ms", "8000", "the longest of these pauses"),
    both("commandConfig", "", "a file with properties of [secured brokers](#secured-brokers), on the driver"),
    *(both(f"kafka.{name}", "", "TLS and logins: see [secured brokers](#secured-brokers)") for name in sorted(NAMES)),
)

READING = (
    reads("subscribe", "one of the three", "topics, with commas between them"),
    reads("subscribePattern", "one of the three", "a regular expression of Java that is found in their names"),
    reads("assign", "one of the three", 'partitions: `{"topic": [0, 1]}`'),
    reads(
        "startingOffsets", "`earliest`, streams `latest`",
        'or JSON with every partition: `{"topic": {"0": 23, "1": -2}}`, -2 earliest, -1 latest (streams)',
    ),
    reads("startingTimestamp", "", "a time in ms for all partitions; takes precedence over the two others"),
    reads(
        "startingOffsetsByTimestamp", "", "JSON with a time for each partition; takes precedence over `startingOffsets`"
    ),
    reads("startingOffsetsByTimestampStrategy", "`error`", "if no record is that new: `error` or `latest`"),
    batches("endingOffsets", "`latest`", "as `startingOffsets`; the end itself is excluded"),
    batches("endingTimestamp", "", "as `startingTimestamp`; the end itself is excluded"),
    batches("endingOffsetsByTimestamp", "", "as `startingOffsetsByTimestamp`; the end itself is excluded"),
    reads("minPartitions", "", "at least this many tasks, if there are as many offsets; larger partitions get more"),
    reads("maxRecordsPerPartition", "", "most offsets of a task"),
    streams("maxOffsetsPerTrigger", "", "most offsets of a batch"),
    streams("minOffsetsPerTrigger", "", "fewest offsets of a batch, unless `maxTriggerDelay` is over"),
    streams("maxTriggerDelay", "`15m`", "how long `minOffsetsPerTrigger` may hold a batch back"),
    reads("failOnDataLoss", "`true`", "`false`: skip missing records with a warning"),
    streams("kafka.group.id", "a name of its own", "the consumer group to which the query reports its progress"),
    streams("groupIdPrefix", "`spark-penstock-source`", "how the name of that group begins, without `kafka.group.id`"),
    reads("kafka.isolation.level", "`read_committed`", "or `read_uncommitted`"),
    reads("kafka.fetch.max.bytes", "4 MiB", "most bytes of an answer; a larger batch comes alone"),
    reads("kafka.max.partition.fetch.bytes", "4 MiB", "the same: an answer has records of one partition"),
    reads("kafka.fetch.min.bytes", "1", "fewest bytes of an answer, unless `kafka.fetch.max.wait.ms` is over"),
    reads("kafka.fetch.max.wait.ms", "500", "how long a broker may wait for them"),
    reads("kafka.max.poll.records", "65536", "rows from which on a task passes an Arrow batch to Spark"),
    reads(
        "kafkaConsumer.pollTimeoutMs",
        "60000",
        "how long a task tries to read before it fails; 120000 for records that an open transaction holds back",
    ),
    reads("fetchOffset.numRetries", "no limit", "how often the driver tries to look up offsets before it fails"),
    reads("fetchOffset.retryIntervalMs", "20, rising", "the pause between two of these attempts"),
    reads("columns", "all but headers", "the columns that the query needs", is_ours=True),
    reads("sampleRecords", "1000", "records from which a schema is inferred", is_ours=True),
    reads("sep", "`,`", "between the fields of CSV", is_ours=True),
    reads(
        "badRows", "`quarantine` if there is `_error`, else `fail`",
        "or `drop`: what happens to values that do not match the schema", is_ours=True,
    ),
    reads("mode", "`append`", "`upsert`: only the latest record of each key, in a batch query", is_ours=True),
)  # fmt: skip

READING_AND_WRITING = (
    both("includeHeaders", "reading `false`, writing `true`", "a column `headers`; a write with `false` refuses it"),
    both("valueFormat", "", "`json`, `avro`, for reading `csv`, too: typed columns, see [tables](#topics-as-tables)"),
    both("valueSchema", "inferred or derived", "the columns of the values in SQL notation, or an Avro schema in JSON"),
)

WRITING = (
    writes("topic", "", "the topic of all rows; takes precedence over the column"),
    writes("kafka.acks", "`all`", "0 and 1 are taken, with a warning: `all` is what is done"),
    writes("kafka.batch.size", "524288", "most bytes of a record batch before compression; a larger record is alone"),
    writes("kafka.linger.ms", "no limit", "how long rows are gathered before they are sent, while more come"),
    writes("kafka.max.request.size", "what the broker takes", "a larger record is refused before it is sent"),
    writes("kafka.compression.type", "`none`", "`gzip`, `snappy`, `lz4`, `zstd`"),
    writes("kafka.partitioner.ignore.keys", "`false`", "`true`: keys do not decide about partitions"),
    writes("kafka.delivery.timeout.ms", "`kafka.default.api.timeout.ms`", "how long to try to write a batch"),
    writes("kafka.max.block.ms", "`kafka.delivery.timeout.ms`", "the same, where that is not given"),
    writes("kafka.retries", "no limit", "how often a request is sent again at most"),
    writes("kafka.transaction.timeout.ms", "60000", "how long the transaction of a dead driver holds readers back"),
    writes("compression", "`none`", "as `kafka.compression.type`", is_ours=True),
    writes(
        "delivery", "streams `exactly-once`, batches `at-least-once`",
        "a batch write with `exactly-once` is all or nothing", is_ours=True,
    ),
    writes("exactlyOnce", "`batch`", "`task`: see [exactly once](#exactly-once)", is_ours=True),
    writes("keyColumn", "", "with `valueFormat`: this column, as text, is also the key", is_ours=True),
    writes(
        "inlineBytes", "8388608",
        "a task with more output passes it to the driver through a file or the topic "
        "`__penstock_staging`; from the fifth task on the limit is lower, so that many tasks together do not send too "
        "much", is_ours=True,
    ),
)  # fmt: skip

ACTING: tuple[Option, ...] = (*BROKERS, *READING, *READING_AND_WRITING, *WRITING)
