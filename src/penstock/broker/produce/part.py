"""One partition's batch of a Produce request, and the checks that it passes before it may be appended.

Each refusal is a KafkaError. Checks come in Kafka's order: the right to write, the partition, the batch, its producer,
what is unusual about it, its records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.produce.repeat_path import ZSTD_VERSION
from penstock.broker.records.checks import CheckResult, RecordCheck
from penstock.cluster.partition import Partition
from penstock.model.batch import (
    CODEC_MASK,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    ZSTD,
    BatchHeader,
    NotOneBatch,
    check_batch,
    read_header,
    without_log_append_time,
)
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.produce import PartitionData
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.storage.interface import LogConfig

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

WRITE = Operation.WRITE  # looked up once: members of an enum are slow to find
UNUSUAL_BITS = TRANSACTIONAL_BIT | LOG_APPEND_TIME_BIT


class Part:
    """One partition's batch between the request and the log."""

    __slots__ = ("batch", "check", "config", "data", "error", "header", "partition")

    batch: bytearray | memoryview
    header: BatchHeader
    partition: Partition
    config: LogConfig

    def __init__(self, data: PartitionData) -> None:
        self.data = data
        self.error: KafkaError | None = None
        self.check: RecordCheck | None = None
        """What the worker process has to look at."""

    @property
    def is_transactional(self) -> bool:
        """Whether it is to be appended, and belongs to a transaction."""
        return self.error is None and self.header.is_transactional

    def decide(self, result: CheckResult) -> None:
        if isinstance(result, KafkaError):
            self.error = result.kept()
        elif result is not None:
            self.batch, self.header = result, read_header(result)


def find(broker: Broker, session: Session, data: PartitionData) -> Partition:
    """The partition to write to; without the right the error does not reveal whether it exists."""
    access, topic = broker.access, data.topic
    if isinstance(topic, str):
        access.check_topic(session, WRITE, topic)
        return broker.partitions.get(topic, data.partition)
    partition = broker.partitions.find(topic, data.partition)
    access.check_topic(session, WRITE, partition.topic)
    return partition


def check_header(broker: Broker, session: Session, version: int, transactional_id: str | None, part: Part) -> None:
    """Look at the header of its batch, which becomes the part's."""
    records = part.data.records
    if records is None or not len(records):
        raise NotOneBatch("exactly one record batch per partition is allowed")
    broker.appender.check_writable(part.partition)
    header = check_batch(records)
    if header.attributes & CODEC_MASK == ZSTD and version < ZSTD_VERSION:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7")
    part.batch, part.header = records, header
    if broker.producer_rights is not None:
        broker.producer_rights.check(session, header)
    if header.attributes & UNUSUAL_BITS:
        _check_unusual(broker, transactional_id, part)


def _check_unusual(broker: Broker, transactional_id: str | None, part: Part) -> None:
    if part.header.is_transactional and transactional_id is None:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if part.header.is_log_append_time:
        part.partition.check_stamped(part.header, broker.clock.now_ms())
        part.batch = without_log_append_time(part.batch, part.header)
        part.header = read_header(part.batch)


def record_check(part: Part, *, validates_all: bool, unpacked_bytes_max: int) -> RecordCheck | None:
    """The check that its records need; None if they need none."""
    config = part.config = part.partition.config
    validate = config.cleanup_compact or validates_all
    if not validate and config.compression_type == "producer":
        return None
    own_codec = part.header.attributes & CODEC_MASK
    codec = own_codec if config.codec is None else config.codec
    if not validate and codec == own_codec:
        return None
    if len(part.batch) > config.max_message_bytes:
        return None  # the log refuses it
    return RecordCheck(
        batch=part.batch,
        header=part.header,
        validate=validate,
        keyed=config.cleanup_compact,
        codec=codec,
        batch_bytes_max=config.max_message_bytes,
        unpacked_bytes_max=unpacked_bytes_max,
    )
