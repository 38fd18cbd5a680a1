"""What is deliberately not the same, and why: the only differences that the comparison lets pass.

Every row names the line of docs/compatibility.md that tells users about it (`row` is text of that line), and a row
that no longer happens must go. APIs that Penstock does not have are a table of their own, which ApiVersions shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    script: str  # patterns, as of a shell
    step: str
    path: str
    row: str
    kafka: Any = ...  # any value, unless one is given
    penstock: Any = ...


_TRANSACTIONS, _SHARE = "AddPartitionsToTxn", "ShareGroupHeartbeat"

NOT_THERE: Mapping[int, str] = {  # API key: the line of docs/compatibility.md that says why
    **dict.fromkeys((17, 36, 50, 51), "SaslHandshake"),
    **dict.fromkeys((24, 25, 26, 27, 28, 65, 66), _TRANSACTIONS),
    **dict.fromkeys((29, 30, 31), "DescribeAcls"),
    **dict.fromkeys((38, 39, 40, 41), "CreateDelegationToken"),
    **dict.fromkeys((64, 80, 81), "UnregisterBroker"),
    **dict.fromkeys((68, 69), "ConsumerGroupHeartbeat"),
    **dict.fromkeys((76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92), _SHARE),
    **dict.fromkeys((88, 89), "StreamsGroupHeartbeat"),
}


class Holding:
    """Stands for any mapping that has this key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and self._key in other

    def __hash__(self) -> int:
        return hash(self._key)


UNKNOWN_CODEC = "an unknown codec is UNKNOWN_SERVER_ERROR"
WHOLE_BATCHES = "an answer may end with a part of a batch"
MIN_INSYNC = "`min.insync.replicas` is shown with the source"
UNKNOWN_BROKER_CONFIG = "a broker takes configs that nobody knows"

SCENARIOS: tuple[Known, ...] = (
    Known(
        script="*",
        step="produce v*",
        path="responses*.error_message",
        kafka=None,
        penstock="<text>",
        row="most refused batches come without a text",
    ),
    Known(
        script="topic-config-timestamps",
        step="produce v*",
        path="responses*.record_errors[*]",
        penstock="<absent>",
        row="a timestamp that is not allowed names its record",
    ),
    Known(
        script="record-codecs",
        step="produce v*: codec [57]",
        path="responses*.error_code",
        kafka=-1,
        penstock=2,
        row=UNKNOWN_CODEC,
    ),
    Known(
        script="record-codecs",
        step="produce v*: codec [57]",
        path="responses*.log_start_offset",
        kafka=0,
        penstock=-1,
        row=UNKNOWN_CODEC,
    ),
    Known(
        script="record-bad-batches",
        step="produce v*: stamped by the client",
        path="responses*",
        row="a client may set the timestamp type LogAppendTime",
    ),
    Known(script="*", step="fetch v*", path="responses*.records[*]", kafka=Holding("cut_off_bytes"), row=WHOLE_BATCHES),
    Known(
        script="record-parts",
        step="fetch v*: 1000 bytes of three",
        path="responses*.records[0]",
        kafka="<absent>",
        row=WHOLE_BATCHES,
    ),
    Known(
        script="record-isolation",
        step="fetch v*: isolation 2",
        path="*",
        row="an isolation level that does not exist",
    ),
    Known(script="*", step="describe_configs v*", path="results*.configs[name=min.insync.replicas].*", row=MIN_INSYNC),
    Known(script="broker-config-defaults", step="alter_configs v*", path="responses*", row=MIN_INSYNC),
    Known(script="topic-config-*", step="*NaN", path="*", row="`NaN` is a ratio"),
    Known(
        script="broker-config-mistakes",
        step="incremental_alter_configs v*no.such.config=1",
        path="responses*",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="broker-config-mistakes",
        step="incremental_alter_configs v*log.retention.ms=-2",
        path="responses*",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="broker-config-mistakes",
        step="describe_configs v*",
        path="results*.configs[name=no.such.config]",
        penstock="<absent>",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="group-first-join",
        step="join_group v*: a handed-out id with an instance",
        path="*",
        row="a join with a group instance and the id of a dynamic member",
    ),
    Known(
        script="group-join-displaced",
        step="join_group v5",
        path="",
        kafka={"silent": True},
        row="a JoinGroup or SyncGroup that the same member's next one replaces",
    ),
)

NO_ISOLATION = "an isolation level that does not exist"
NO_NAME = "an empty or null name in Metadata or DescribeTopicPartitions"
TIMESTAMP_RECORDS = "a timestamp that is not allowed names its record"
FEATURES = "features: `metadata.version`"

REQUESTS: tuple[Known, ...] = (
    Known(script="fetch-v*", step="fetch v*: an isolation level of 2", path="*", row=NO_ISOLATION),
    Known(script="list-offsets-v*", step="list_offsets v*: an isolation level of 9", path="topics*", row=NO_ISOLATION),
    Known(script="fetch-limits", step="fetch v12: -* bytes*", path="responses*", row="a negative byte limit is"),
    Known(
        script="produce-*",
        step="produce v*",
        path="responses*.record_errors[*]",
        penstock="<absent>",
        row=TIMESTAMP_RECORDS,
    ),
    Known(
        script="produce-records",
        step="produce v9: * that is none",
        path="responses*",
        row="a batch that does not decompress",
    ),
    Known(
        script="produce-never-answered",
        step="produce v9: null records",
        path="",
        kafka={"silent": True},
        row="null instead of records is never answered",
    ),
    Known(
        script="produce-never-answered",
        step="produce v9: a partition twice",
        path="responses*[1]",
        kafka="<absent>",
        row="the same partition twice in one request",
    ),
    Known(
        script="alter-configs-never-answered",
        step="alter_configs v2: a topic twice",
        path="",
        kafka={"silent": True},
        row="a resource twice in one AlterConfigs",
    ),
    Known(script="metadata-v*", step="metadata v*: no name, no id", path="*", row=NO_NAME),
    Known(script="describe-topic-partitions-v0", step="*: an empty name", path="topics*", row=NO_NAME),
    Known(
        script="create-topics-*",
        step="create_topics v*",
        path="topics*.configs[name=min.insync.replicas].config_source",
        row=MIN_INSYNC,
    ),
    Known(
        script="describe-configs-*",
        step="*: all of the default broker",
        path="results*.configs[name=min.insync.replicas]",
        row=MIN_INSYNC,
    ),
    Known(
        script="describe-configs-*",
        step="*: broker '1'",
        path="results*.configs[name=max.connections].*",
        row="DescribeConfigs of a broker shows some 300 configs",
    ),
    Known(
        script="incremental-alter-configs-*",
        step="*: an unknown broker config",
        path="responses*",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(script="*", step="api_versions v*", path="finalized_features[*]", penstock="<absent>", row=FEATURES),
    Known(script="*", step="api_versions v*", path="supported_features[*]", row=FEATURES),
    Known(
        script="push-telemetry-v0",
        step="*: bytes that are no metrics",
        path="error_code",
        kafka=0,
        row="whether a push holds metrics is the reporter's business",
    ),
    Known(
        script="describe-quorum-v2",
        step="*: of the metadata",
        path="nodes*.listeners*",
        row="DescribeQuorum shows the log of the metadata and the controller's listener",
    ),
)

KNOWN: tuple[Known, ...] = (
    *SCENARIOS,
    *REQUESTS,
    *(
        Known(script="*", step="api_versions v*", path=f"api_keys[api_key={key}]", row=row, penstock="<absent>")
        for key, row in NOT_THERE.items()
    ),
)
