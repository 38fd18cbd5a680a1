"""From the texts of topic configs to the values that the log engine obeys."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.config_key import to_list
from penstock.storage.interface import LogConfig


def to_log_config(explicit: Mapping[str, str], defaults: Mapping[str, str]) -> LogConfig:
    """The log config of a topic. Both mappings hold normalized texts; `defaults` has every topic config."""
    configs = {**defaults, **explicit}
    policies = to_list(configs["cleanup.policy"])
    return LogConfig(
        segment_bytes=int(configs["segment.bytes"]),
        segment_ms=int(configs["segment.ms"]),
        index_interval_bytes=int(configs["index.interval.bytes"]),
        retention_ms=int(configs["retention.ms"]),
        retention_bytes=int(configs["retention.bytes"]),
        cleanup_delete="delete" in policies,
        cleanup_compact="compact" in policies,
        delete_retention_ms=int(configs["delete.retention.ms"]),
        min_compaction_lag_ms=int(configs["min.compaction.lag.ms"]),
        max_compaction_lag_ms=int(configs["max.compaction.lag.ms"]),
        min_cleanable_dirty_ratio=float(configs["min.cleanable.dirty.ratio"]),
        max_message_bytes=int(configs["max.message.bytes"]),
        log_append_time=configs["message.timestamp.type"] == "LogAppendTime",
        timestamp_before_max_ms=int(configs["message.timestamp.before.max.ms"]),
        timestamp_after_max_ms=int(configs["message.timestamp.after.max.ms"]),
        compression_type=configs["compression.type"],
        message_ttl_ms=int(configs["message.ttl.ms"]),
    )
