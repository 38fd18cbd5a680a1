"""The options of Spark's connector that do not act: those that it refuses itself, and those without a meaning here."""

from __future__ import annotations

from penstock_spark.options.acting import ACTING
from penstock_spark.options.kafka_clients import CONSUMER_CONFIGS, PRODUCER_CONFIGS
from penstock_spark.options.option import IGNORED, REFUSED, Option, ignored, refused_reading, refused_writing

KAFKA = "kafka."

REFUSED_OPTIONS = (
    refused_reading("kafka.auto.offset.reset", "`startingOffsets` says where a query begins"),
    refused_reading("kafka.key.deserializer", "keys are BINARY: use functions of Spark, or `valueFormat`"),
    refused_reading("kafka.value.deserializer", "values are BINARY: use functions of Spark, or `valueFormat`"),
    refused_reading("kafka.enable.auto.commit", "Spark keeps the offsets of a query in its checkpoint"),
    Option(
        name="kafka.interceptor.classes", batch=REFUSED, stream=REFUSED, write=IGNORED,
        meaning="classes of Java are not loaded",
    ),
    refused_writing("kafka.key.serializer", "keys are STRING or BINARY and are written as they are"),
    refused_writing("kafka.value.serializer", "values are STRING or BINARY and are written as they are"),
    refused_writing("kafka.partitioner.class", "classes of Java are not loaded: a column `partition` says where to"),
    refused_writing("kafka.transactional.id", "transactions are those of `delivery`, under names of the query"),
)  # fmt: skip


def _of_clients(*names: str) -> tuple[str, ...]:
    return tuple(KAFKA + name for name in names)


def _others(*beginnings: str) -> tuple[str, ...]:
    """The configs of clients that begin with one of these and do not act."""
    known = {option.name for option in ACTING}
    every = _of_clients(*sorted(CONSUMER_CONFIGS | PRODUCER_CONFIGS))
    return tuple(name for name in every if name.startswith(_of_clients(*beginnings)) and name not in known)


WITHOUT_MEANING = (
    *ignored(
        "tasks read given offsets and are no members of a group",
        *_of_clients(
            "auto.commit.interval.ms", "group.instance.id", "group.protocol", "group.remote.assignor",
            "heartbeat.interval.ms", "max.poll.interval.ms", "partition.assignment.strategy", "session.timeout.ms",
        ),
        *_others("share."),
    ),
    *ignored("topics are never created by reading", "kafka.allow.auto.create.topics"),
    *ignored("internal topics are never read by a pattern", "kafka.exclude.internal.topics"),
    *ignored("checksums are always verified", "kafka.check.crcs"),
    *ignored("partitions and leaders are looked up when they are needed", *_others("metadata.")),
    *ignored(
        "connections are those of Penstock's own client",
        *_of_clients("client.dns.lookup", "client.rack", "connections.max.idle.ms", "receive.buffer.bytes",
                     "send.buffer.bytes"),
        *_others("socket."),
    ),
    *ignored("there is no client of Java to measure", *_others("metric", "enable.metrics.push")),
    *ignored("classes of Java are not loaded", *_of_clients("config.providers", "security.providers")),
    *ignored("it is about the client of Java", *_others("internal.")),
    *ignored("logins are SCRAM and PLAIN: see [secured brokers](#secured-brokers)", *_others("sasl.")),
    *ignored("TLS is Python's, and stores are PEM: see [secured brokers](#secured-brokers)", *_others("ssl.")),
    *ignored("batches are built from columns and are not kept in a buffer", "kafka.buffer.memory"),
    *ignored("repeated batches are always recognised", "kafka.enable.idempotence"),
    *ignored("up to five batches are under way, always in order", "kafka.max.in.flight.requests.per.connection"),
    *ignored("codecs have their usual levels", *_others("compression.")),
    *ignored("rows without a key are spread evenly", *_others("partitioner.a")),
    *ignored("transactions are committed in one step", "kafka.transaction.two.phase.commit.enable"),
)  # fmt: skip
