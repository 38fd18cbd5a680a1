"""The normaliser: the one table of fields in which two brokers may differ, and nothing else.

Error codes, null versus empty and throttle times are never touched. An id becomes an alias by the order of its first
appearance in the transcript (`member_id#1`), so that the same id stays the same and another one another. A time that
the script made is shown as `T+offset` and compared; one that the broker made is `<time>`. Texts of errors are free:
only null, empty or some text is compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.differential.transcript import Step, Transcript

IDS: Mapping[str, str] = {  # field: the kind of id it holds
    "topic_id": "topic_id",
    "member_id": "member_id",
    "leader": "member_id",  # of JoinGroup; the leader of a partition is a leader_id
    "producer_id": "producer_id",
    "cluster_id": "cluster_id",
    "session_id": "session_id",
    "log_dir": "log_dir",
    "client_instance_id": "client_instance_id",
    "replica_directory_id": "directory_id",
}
NO_ID = (None, "", 0, -1)
NOTHING = (None, "", -1)  # no address and no size: that is compared

TIMES = frozenset(
    {"timestamp", "base_timestamp", "max_timestamp", "log_append_time", "last_timestamp", "last_fetch_timestamp",
     "last_caught_up_timestamp", "start_timestamp", "transaction_start_time"}
)  # fmt: skip
MADE_UP_BEFORE = 1_750_000_000_000
"""Times before this are no broker's: a script made them up, and they are compared."""

ADDRESSES: Mapping[str, str] = {
    "host": "<host>",
    "port": "<port>",
    "total_bytes": "<bytes>",  # of the disk
    "usable_bytes": "<bytes>",
    "finalized_features_epoch": "<offset>",  # of the metadata log
    "describe_quorum.high_watermark": "<offset>",
    "describe_quorum.log_end_offset": "<offset>",
    "describe_quorum.leader_epoch": "<epoch>",
    "subscription_id": "<hash>",  # of the subscriptions, as the broker likes
}

MESSAGES = frozenset({"error_message", "batch_index_error_message"})

UNORDERED: Mapping[tuple[str, str], tuple[str, ...]] = {  # (API, list): what names a row; Kafka's order is a hash map's
    ("add_partitions_to_txn", "results_by_partition"): ("partition_index",),
    ("add_partitions_to_txn", "results_by_topic_v3_and_below"): ("name",),
    ("add_partitions_to_txn", "topic_results"): ("name",),
    ("alter_client_quotas", "entity"): ("entity_type",),
    ("alter_client_quotas", "entries"): ("entity",),
    ("alter_replica_log_dirs", "partitions"): ("partition_index",),
    ("alter_user_scram_credentials", "results"): ("user",),
    ("api_versions", "api_keys"): ("api_key",),
    ("api_versions", "finalized_features"): ("name",),
    ("api_versions", "supported_features"): ("name",),
    ("create_partitions", "results"): ("name",),
    ("create_topics", "topics"): ("name",),
    ("delete_groups", "results"): ("group_id",),
    ("delete_records", "partitions"): ("partition_index",),
    ("delete_records", "topics"): ("name",),
    ("delete_topics", "responses"): ("name", "topic_id"),
    ("describe_client_quotas", "entries"): ("entity",),
    ("describe_client_quotas", "values"): ("key",),
    ("describe_configs", "configs"): ("name",),
    ("describe_groups", "groups"): ("group_id",),
    ("describe_groups", "members"): ("member_id",),
    ("describe_log_dirs", "partitions"): ("partition_index",),
    ("describe_log_dirs", "topics"): ("name",),
    ("describe_acls", "resources"): ("resource_type", "resource_name", "pattern_type"),
    ("describe_acls", "acls"): ("principal", "host", "operation", "permission_type"),
    ("delete_acls", "matching_acls"): (
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    ),
    ("describe_producers", "active_producers"): ("producer_id",),
    ("describe_transactions", "partitions"): (),  # numbers
    ("describe_transactions", "topics"): ("topic",),
    ("describe_user_scram_credentials", "credential_infos"): ("mechanism",),
    ("describe_user_scram_credentials", "results"): ("user",),
    ("join_group", "members"): ("member_id",),
    ("list_config_resources", "config_resources"): ("resource_type", "resource_name"),
    ("list_groups", "groups"): ("group_id",),
    ("list_offsets", "partitions"): ("partition_index",),
    ("list_offsets", "topics"): ("name",),
    ("list_transactions", "transaction_states"): ("transactional_id",),
    ("metadata", "topics"): ("name", "topic_id"),
    ("offset_fetch", "partitions"): ("partition_index",),
    ("offset_fetch", "topics"): ("name", "topic_id"),
    ("produce", "partition_responses"): ("index",),
    ("produce", "responses"): ("name", "topic_id"),
    ("txn_offset_commit", "topics"): ("name",),
    ("write_txn_markers", "partitions"): ("partition_index",),
    ("write_txn_markers", "topics"): ("name",),
}

OWN = "~"
"""Stands for what the names of a script begin with, so that one version's answers read like another's."""

SHARED = frozenset({"topics", "groups", "config_resources", "entries", "transaction_states"})
"""Lists of all that a broker has; rows of other scripts (their names begin with x-) are left out."""


class Normaliser:
    """Makes the answers of one transcript comparable; it remembers the ids it has seen."""

    def __init__(self, transcript: Transcript) -> None:
        self._mine = f"x-{transcript.script}-"
        self._times = transcript.times
        self._aliases: dict[str, dict[Any, str]] = {}

    def step(self, step: Step) -> Any:
        return self._value(step.api, "", step.answer)

    def _value(self, api: str, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._value(api, key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(api, name, item) for item in self._arranged(api, name, value)]
        if name in IDS and not isinstance(value, bool):
            return self._alias(IDS[name], value)
        if isinstance(value, str):
            value = value.replace(self._mine, OWN)
        if name in TIMES and isinstance(value, int) and value > MADE_UP_BEFORE:
            return self._times.get(value, "<time>")
        if name in MESSAGES and value:
            return "<text>"
        if value in NOTHING:
            return value
        return ADDRESSES.get(f"{api}.{name}", ADDRESSES.get(name, value))

    def _alias(self, kind: str, value: Any) -> Any:
        if value in NO_ID:
            return value
        known = self._aliases.setdefault(kind, {})
        return known.setdefault(value, f"{kind}#{len(known) + 1}")

    def _arranged(self, api: str, name: str, rows: list[Any]) -> list[Any]:
        if name in SHARED:
            rows = [row for row in rows if not self._foreign(row)]
        keys = UNORDERED.get((api, name))
        if keys is None:
            return rows
        if not all(isinstance(row, dict) for row in rows):
            return rows if keys else sorted(rows)
        return sorted(rows, key=lambda row: self._rank(row, keys))

    def _rank(self, row: dict[str, Any], keys: tuple[str, ...]) -> list[tuple[int, str]]:
        """Where a row belongs: by what names it; ids in the order of their first appearance, new ones by the rest."""
        ranks = []
        for key in keys:
            if key in IDS:
                known = list(self._aliases.get(IDS[key], {}))
                ranks.append((known.index(row[key]) if row.get(key) in known else len(known), ""))
            else:
                ranks.append((0, json.dumps(row.get(key), sort_keys=True)))
        rest = {name: value for name, value in row.items() if name not in IDS}
        return [*ranks, (0, json.dumps(rest, sort_keys=True))]

    def _foreign(self, row: Any) -> bool:
        if not isinstance(row, dict):
            return False
        named = row.get("name") or row.get("group_id") or row.get("resource_name") or row.get("transactional_id") or ""
        return isinstance(named, str) and named.startswith("x-") and not named.startswith(self._mine)


def normalised(transcript: Transcript) -> list[tuple[str, Any]]:
    """The steps as (title, answer), ready to be compared or kept."""
    normaliser = Normaliser(transcript)
    return [(step.title, normaliser.step(step)) for step in transcript.steps]
