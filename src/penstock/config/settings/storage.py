"""How logs are kept, and what topics are made with."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from penstock.config.config_layers import ConfigLayers
from penstock.config.settings.values import GIB, KIB, MIB, Bytes, Count, Section, Texts
from penstock.model.errors import KafkaError

DISK, MEMORY = "disk", "memory"
"""The storage engines that come with Penstock."""


class Flush(StrEnum):
    """The moment of the sync: before the acknowledgement, at intervals, or left to the operating system."""

    ALWAYS = "always"
    INTERVAL = "interval"
    OS = "os"


class VerifyOnRead(StrEnum):
    FIRST = "first"
    ALWAYS = "always"
    OFF = "off"


class Validation(StrEnum):
    """Depth of the check of a produced batch: its header and CRC, or every record in it, too."""

    BATCH = "batch"
    RECORDS = "records"


def _engine(value: object) -> object:
    return DISK if value == "mmap" else value


def _off(value: object) -> object:
    """YAML reads a bare off as false."""
    return VerifyOnRead.OFF if value is False else value


class StorageSettings(Section):
    engine: Annotated[str, BeforeValidator(_engine), Field(min_length=1)] = DISK
    """disk, memory (nothing survives a stop), or the name of an entry point penstock.storage. mmap is taken as disk."""
    flush: Flush = Flush.ALWAYS
    """always: acknowledged means synced; interval: synced every flush_interval_ms; os: by the system."""
    flush_interval_ms: Count = 1_000
    """Time between syncs with flush: interval."""
    verify_on_read: Annotated[VerifyOnRead, BeforeValidator(_off)] = VerifyOnRead.FIRST
    """Check the CRC when a region is first served after opening, always, or never."""
    min_free_bytes: Bytes = 256 * MIB
    """With less free disk than this, produce is refused until there is room again."""
    reserve_bytes: Bytes = 64 * MIB
    """The part of min_free_bytes that offset commits, group records and deletions may still use."""
    memory_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = 1 * GIB
    """With engine: memory, above this many bytes of records produce is refused until there is room again."""
    disk_check_interval_ms: Count = 1_000
    """Time between checks of the free disk space."""
    open_files_max: Annotated[int, Field(ge=16)] = 1_500
    """Segment files kept open at once."""
    checkpoint_bytes: Annotated[Bytes, Field(ge=64 * KIB)] = 16 * MIB
    """A log writes a recovery point after this many new bytes."""
    checkpoint_interval_ms: Count = 60_000
    """A log writes a recovery point after this time at the latest."""
    retention_check_interval_ms: Count = 30_000
    """Time between retention runs."""
    compaction_check_interval_ms: Count = 15_000
    """Time between searches for logs to compact."""
    scrub_bytes_per_second: Bytes = 1 * MIB
    """Speed of the background check of all stored bytes; 0 switches it off."""


class TopicSettings(Section):
    default_partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Partitions of a topic that is created without a number."""
    auto_create: bool = True
    """Create a topic when a client first asks for it."""
    strict_replication_factor: bool = False
    """Refuse replication factors above the number of nodes instead of lowering them."""
    validation: Validation = Validation.BATCH
    """Check batches by header and CRC, or decode every record. Compacted topics always decode."""
    defaults: Texts = Field(default_factory=dict)
    """Node-wide defaults of topic configs by Kafka's names, such as retention.ms."""

    @field_validator("defaults")
    @classmethod
    def _known_configs(cls, value: dict[str, str]) -> dict[str, str]:
        try:
            ConfigLayers(value)
        except KafkaError as error:
            raise ValueError(str(error)) from error
        return value
