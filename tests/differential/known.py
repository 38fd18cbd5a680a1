"""The deliberate differences, with reasons: the only ones that the comparison accepts.

Every row says what both brokers answer, so that another difference in the same place is noticed, and names the line of
docs/compatibility.md that tells users about it (`row` is text of that line). A row that no longer happens must go. APIs
that Penstock does not have are a table of their own, which ApiVersions shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.differential.known_documented import DOCUMENTED
from tests.differential.known_row import ABSENT, SILENT, Holding, Known, refused
from tests.differential.known_transactions import ANY_NAME, TRANSACTIONS

_SHARE = "ShareGroupHeartbeat"

NOT_THERE: Mapping[int, str] = {  # API key: the line of docs/compatibility.md that says why
    **dict.fromkeys((38, 39, 40, 41), "CreateDelegationToken"),
    **dict.fromkeys((64, 80, 81), "UnregisterBroker"),
    **dict.fromkeys((68, 69), "ConsumerGroupHeartbeat"),
    **dict.fromkeys((76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92), _SHARE),
    **dict.fromkeys((88, 89), "StreamsGroupHeartbeat"),
}


WHOLE_BATCHES = "an answer may end with a part of a batch"
UNKNOWN_BROKER_CONFIG = "a broker accepts unknown configs"
NOT_A_NUMBER = "`NaN` is a ratio"
OUR_CONFIG = "one more: `message.ttl.ms`"
OTHER_SEGMENTS = "an answer ends with a segment"


SCENARIOS: tuple[Known, ...] = (
    *(
        Known(
            script="*",
            step=f"{api} v*",
            path=f"{rows}*.configs[name=message.ttl.ms]",
            kafka=ABSENT,
            penstock=Holding(value="-1"),
            row=OUR_CONFIG,
        )
        for api, rows in (("create_topics", "topics"), ("describe_configs", "results"))
    ),
    Known(
        script="*",
        step="fetch v*",
        path="responses*.records[*]",
        kafka=Holding("cut_off_bytes"),
        penstock=ABSENT,
        row=WHOLE_BATCHES,
    ),
    Known(
        script="record-parts",
        step="fetch v*: 1000 bytes of three",
        path="responses*.records[0]",
        kafka=ABSENT,
        penstock=Holding(base_offset=0, count=2),
        row=WHOLE_BATCHES,
    ),
    *(
        Known(
            script=script,
            step="fetch v*",
            path="responses*.records[*]",
            kafka=ABSENT,
            penstock=Holding("base_offset"),
            row=OTHER_SEGMENTS,
        )
        for script in ("compaction-*", "retention-bytes")
    ),
    *refused(script="topic-config-*", step="incremental_alter_configs v*NaN", code=40, row=NOT_A_NUMBER),
    Known(
        script="topic-config-values",
        step="describe_configs v*: NaN",
        path="results*.configs[name=min.cleanable.dirty.ratio].value",
        kafka="NaN",
        penstock="0.5",
        row=NOT_A_NUMBER,
    ),
    *refused(
        script="broker-config-mistakes",
        step="incremental_alter_configs v*no.such.config=1",
        code=42,
        row=UNKNOWN_BROKER_CONFIG,
    ),
    *refused(
        script="broker-config-mistakes",
        step="incremental_alter_configs v*log.retention.ms=-2",
        code=42,
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="broker-config-mistakes",
        step="describe_configs v*",
        path="results*.configs[name=no.such.config]",
        kafka=Holding(value=None, read_only=True, is_sensitive=True, config_type=0),
        penstock=ABSENT,
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="group-join-displaced",
        step="join_group v5",
        path="",
        kafka=SILENT,
        penstock=Holding(error_code=27, generation_id=-1, members=[]),
        row="a JoinGroup or SyncGroup that the same member's next one replaces",
    ),
)

FEATURES = "features: `metadata.version`"
FEATURE_LEVELS: Mapping[str, int] = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
}
CONNECTIONS = "DescribeConfigs of a broker shows some 300 configs"
LISTENERS = "DescribeQuorum shows the log of the metadata and the controller's listener"

REQUESTS: tuple[Known, ...] = (
    Known(
        script="produce-never-answered",
        step="produce v9: null records",
        path="",
        kafka=SILENT,
        penstock=Holding("responses", throttle_time=0),
        row="null instead of records is never answered",
    ),
    Known(
        script="produce-never-answered",
        step="produce v9: a partition twice",
        path="responses*[1]",
        kafka=ABSENT,
        penstock=Holding(index=0, error_code=0, base_offset=1),
        row="the same partition twice in one request",
    ),
    Known(
        script="alter-configs-never-answered",
        step="alter_configs v2: a topic twice",
        path="",
        kafka=SILENT,
        penstock=Holding("responses", throttle_time=0),
        row="a resource twice in one AlterConfigs",
    ),
    Known(
        script="malformed-add-partitions-to-txn",
        step="add_partitions_to_txn v[45]: *",
        path="",
        kafka=SILENT,
        penstock=Holding("results_by_transaction", throttle_time=0, error_code=0),
        row="AddPartitionsToTxn v4 without a transaction is never answered",
    ),
    Known(
        script="txn-offset-commit-*",
        step="txn_offset_commit v*: an unknown id",
        path="topics*.error_code",
        kafka=0,
        penstock=49,
        row=ANY_NAME,
    ),
    *(
        Known(  # with the request that was refused here, because none comes after it in these versions
            script="txn-offset-commit-v[0-2]",
            step=f"offset_fetch v7: after {end}, *",
            path="topics*.metadata",
            kafka="m",
            penstock="",
            row=ANY_NAME,
        )
        for end in ("the commit", "an abort")
    ),
    *(
        Known(
            script="describe-configs-*",
            step="*: broker '1'",
            path=f"results*.configs[name=max.connections].{field}",
            kafka=kafka,
            penstock=penstock,
            row=CONNECTIONS,
        )
        for field, kafka, penstock in (
            ("value", "2147483647", "16000"),
            ("read_only", False, True),
            ("config_source", 5, 4),
            ("synonyms[0].value", "2147483647", "16000"),
            ("synonyms[0].source", 5, 4),
            ("synonyms[1]", ABSENT, Holding(value="2147483647", source=5)),
        )
    ),
    *refused(
        script="incremental-alter-configs-*",
        step="*: an unknown broker config",
        code=42,
        row=UNKNOWN_BROKER_CONFIG,
    ),
    *(
        Known(
            script="*",
            step="api_versions v*",
            path=f"{features}_features[name={name}]",
            kafka=Holding(**{f"max_version{'_level' * (features == 'finalized')}": level}),
            penstock=ABSENT,
            row=FEATURES,
        )
        for features in ("supported", "finalized")
        for name, level in FEATURE_LEVELS.items()
    ),
    Known(
        script="push-telemetry-v0",
        step="*: bytes that are no metrics",
        path="error_code",
        kafka=0,
        penstock=87,
        row="whether a push holds metrics is the reporter's business",
    ),
    *(
        Known(
            script="describe-quorum-v2",
            step="*: of the metadata",
            path=f"nodes*.listeners[name={name}]",
            kafka=kafka,
            penstock=penstock,
            row=LISTENERS,
        )
        for name, kafka, penstock in (
            ("CONTROLLER", Holding(name="CONTROLLER"), ABSENT),
            ("PLAINTEXT", ABSENT, Holding(name="PLAINTEXT")),
        )
    ),
)

KNOWN: tuple[Known, ...] = (
    *SCENARIOS,
    *REQUESTS,
    *DOCUMENTED,
    *TRANSACTIONS,
    *(
        Known(
            script="*",
            step="api_versions v*",
            path=f"api_keys[api_key={key}]",
            kafka=Holding(api_key=key),
            penstock=ABSENT,
            row=row,
        )
        for key, row in NOT_THERE.items()
    ),
)
