"""ApiVersions, the table of APIs and versions, and what a request outside that table gets."""

import struct
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.wire import API_KEYS, encode_header, frame, response_schema

pytestmark = pytest.mark.feature("F-01")

# The ranges of Kafka 4.3 for the APIs of a single-node broker without SASL and ACLs.
RANGES = {
    "produce": (0, 13),
    "fetch": (4, 18),
    "list_offsets": (1, 11),
    "metadata": (0, 13),
    "offset_commit": (2, 10),
    "offset_fetch": (1, 10),
    "find_coordinator": (0, 6),
    "join_group": (0, 9),
    "heartbeat": (0, 4),
    "leave_group": (0, 5),
    "sync_group": (0, 5),
    "describe_groups": (0, 6),
    "list_groups": (0, 5),
    "api_versions": (0, 4),
    "create_topics": (2, 7),
    "delete_topics": (1, 6),
    "delete_records": (0, 2),
    "init_producer_id": (0, 5),
    "add_partitions_to_txn": (0, 5),
    "add_offsets_to_txn": (0, 4),
    "end_txn": (0, 5),
    "write_txn_markers": (1, 2),
    "txn_offset_commit": (0, 5),
    "describe_transactions": (0, 0),
    "list_transactions": (0, 2),
    "offset_for_leader_epoch": (2, 4),
    "describe_acls": (1, 3),
    "create_acls": (1, 3),
    "delete_acls": (1, 3),
    "describe_configs": (1, 4),
    "alter_configs": (0, 2),
    "incremental_alter_configs": (0, 1),
    "describe_log_dirs": (1, 5),
    "create_partitions": (0, 3),
    "delete_groups": (0, 2),
    "offset_delete": (0, 0),
    "elect_leaders": (0, 2),
    "alter_partition_reassignments": (0, 1),
    "list_partition_reassignments": (0, 0),
    "update_features": (0, 2),
    "describe_cluster": (0, 2),
    "describe_producers": (0, 0),
    "list_config_resources": (0, 1),
    "describe_topic_partitions": (0, 0),
    "describe_client_quotas": (0, 1),
    "alter_client_quotas": (0, 1),
    "alter_replica_log_dirs": (1, 2),
    "sasl_handshake": (0, 1),
    "sasl_authenticate": (0, 2),
    "describe_user_scram_credentials": (0, 0),
    "alter_user_scram_credentials": (0, 0),
    "describe_quorum": (0, 2),
}
TELEMETRY = ("get_telemetry_subscriptions", "push_telemetry")
"""Kafka advertises these only with a metrics reporter that receives telemetry, Penstock while they are of use."""
FIRST_PRODUCE_VERSION = 3
SOFTWARE = {"client_software_name": "facts", "client_software_version": "1.0"}


def advertised(client: RawClient, version: int = 4) -> dict[int, tuple[int, int]]:
    answer = client.call("api_versions", version, **SOFTWARE)
    assert answer.error_code == ErrorCode.none
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}


@pytest.mark.parametrize("version", range(5))
def test_every_api_is_advertised_with_kafkas_range(client: RawClient, version: int) -> None:
    """Each API is advertised with the version range of Kafka 4.3, in every version of ApiVersions."""
    found = advertised(client, version)
    assert {name: found.get(API_KEYS[name]) for name in RANGES} == RANGES


@pytest.mark.usefixtures("penstock_only")
def test_nothing_else_is_advertised(client: RawClient) -> None:
    """The new group protocols and SASL are not advertised before they exist."""
    assert set(advertised(client)) == {API_KEYS[name] for name in RANGES}


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize("version", range(5))
def test_telemetry_is_advertised_while_there_is_a_subscription(client: RawClient, version: int) -> None:
    """Clients that see the two APIs ask at every start, and librdkafka prints a line each time."""
    keys = {API_KEYS[name] for name in TELEMETRY}
    assert not keys & set(advertised(client, version))
    set_metrics(client, "*")
    assert keys <= set(advertised(client, version))
    set_metrics(client, None)
    assert not keys & set(advertised(client, version))


@pytest.mark.usefixtures("penstock_only")
def test_telemetry_can_be_advertised_always(tmp_path: Path) -> None:
    process = PenstockProcess(tmp_path, "telemetry:\n  advertise: always\n")
    for _ in running(process):
        with RawClient(process.host, process.port) as client:
            assert {API_KEYS[name] for name in TELEMETRY} <= set(advertised(client))


def set_metrics(client: RawClient, metrics: str | None) -> None:
    config = {"name": "metrics", "config_operation": 0 if metrics else 1, "value": metrics}
    resource = {"resource_type": 16, "resource_name": "versions", "configs": [config]}
    answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
    assert [each.error_code for each in answer.responses] == [ErrorCode.none]


def test_produce_is_advertised_from_version_0_though_0_to_2_are_closed(client: RawClient) -> None:
    """Produce is advertised from v0, since librdkafka stops compressing otherwise (KAFKA-18659)."""
    assert advertised(client)[API_KEYS["produce"]] == (0, 13)


@pytest.mark.parametrize("version", [5, 42, 32767])
def test_unknown_api_versions_version(client: RawClient, version: int) -> None:
    """ApiVersions of an unknown version: a v0 answer with error 35 that holds only ApiVersions itself."""
    client.send_bytes(frame(encode_header(API_KEYS["api_versions"], version, 77, flexible=True)))
    correlation_id, answer = client.receive("api_versions", 0)
    assert correlation_id == 77
    assert answer.error_code == ErrorCode.unsupported_version
    assert [(key.api_key, key.min_version, key.max_version) for key in answer.api_keys] == [(18, 0, 4)]


@pytest.mark.feature("F-13")
def test_connection_is_usable_after_an_unknown_api_versions_version(client: RawClient) -> None:
    """After the refusal of an ApiVersions version the client tries again on the same connection."""
    client.send_bytes(frame(encode_header(API_KEYS["api_versions"], 99, 1, flexible=True)))
    client.receive_frame()
    assert advertised(client, 3)[API_KEYS["api_versions"]] == (0, 4)


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(
    ("name", "software_version"),
    [("", "1.0"), ("facts", ""), (" ", "1.0"), ("na me!", "1.0"), ("-facts", "1.0")],
)
def test_malformed_client_software(client: RawClient, version: int, name: str, software_version: str) -> None:
    """A client software name or version that is empty or malformed is an INVALID_REQUEST."""
    answer = client.call("api_versions", version, client_software_name=name, client_software_version=software_version)
    assert answer.error_code == ErrorCode.invalid_request
    assert advertised(client)


@pytest.mark.parametrize("version", [3, 4])
def test_client_software_may_hold_dots_and_dashes(client: RawClient, version: int) -> None:
    """Letters, digits, dots and dashes are fine in the client's software name and version."""
    answer = client.call(
        "api_versions", version, client_software_name="my.client-1", client_software_version="1.0-rc.1"
    )
    assert answer.error_code == ErrorCode.none


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (API_KEYS["metadata"], 14),
        (API_KEYS["metadata"], -1),
        (API_KEYS["fetch"], 3),
        (API_KEYS["fetch"], 19),
        (API_KEYS["produce"], 0),
        (API_KEYS["produce"], 1),
        (API_KEYS["produce"], 2),
        (API_KEYS["produce"], 14),
        (API_KEYS["list_offsets"], 0),
        (API_KEYS["offset_commit"], 1),
        (API_KEYS["offset_fetch"], 0),
        (API_KEYS["create_topics"], 1),
        (API_KEYS["delete_topics"], 0),
        (4, 0),
        (7, 0),
        (999, 0),
        (-1, 0),
        (32767, 32767),
    ],
)
def test_unknown_key_or_version_closes_the_connection(client: RawClient, api_key: int, version: int) -> None:
    """A key or version outside the table (Produce v0–2 included) ends the connection."""
    client.send_bytes(frame(encode_header(api_key, version, 1) + b"\x00" * 64))
    assert client.closed_by_peer()


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize(
    "api",
    [
        "consumer_group_heartbeat",
        "share_fetch",
    ],
)
def test_what_is_not_advertised_closes_the_connection(client: RawClient, api: str) -> None:
    """An API that is not advertised yet is an unknown one."""
    client.send_bytes(frame(encode_header(API_KEYS[api], 1, 1, flexible=True) + b"\x00" * 64))
    assert client.closed_by_peer()


def test_supported_features_with_minimum_0_are_left_out_of_version_3(client: RawClient) -> None:
    """ApiVersions v3 leaves out features with minimum 0, which old Java clients reject; v4 has them."""
    third = {feature.name: feature for feature in client.call("api_versions", 3, **SOFTWARE).supported_features}
    fourth = {feature.name: feature for feature in client.call("api_versions", 4, **SOFTWARE).supported_features}
    assert all(feature.min_version > 0 for feature in third.values())
    assert set(third) == {name for name, feature in fourth.items() if feature.min_version > 0}


def test_finalized_features_are_complete_in_versions_3_and_4(client: RawClient) -> None:
    """The finalized features are the same in ApiVersions v3 and v4, whatever their minimum."""

    def finalized(version: int) -> dict[str, tuple[int, int]]:
        answer = client.call("api_versions", version, **SOFTWARE)
        assert not answer.finalized_features or answer.finalized_features_epoch >= 0
        return {each.name: (each.min_version_level, each.max_version_level) for each in answer.finalized_features}

    assert finalized(3) == finalized(4)


def test_transaction_version_feature(client: RawClient) -> None:
    """`transaction.version` 0–2 is supported in v4 only and finalized at 2 in both."""
    for version in (3, 4):
        answer = client.call("api_versions", version, **SOFTWARE)
        supported = {feature.name: feature for feature in answer.supported_features}
        finalized = {feature.name: feature for feature in answer.finalized_features}
        assert ("transaction.version" in supported) == (version == 4)
        assert finalized["transaction.version"].max_version_level == 2
        assert answer.finalized_features_epoch >= 0


@pytest.mark.parametrize("api", [name for name in RANGES if name != "update_features"])
def test_every_version_of_every_api_answers(client: RawClient, api: str) -> None:
    """Every version in the range, old and not flexible ones included, is answered in its own format."""
    low, high = RANGES[api]
    first = FIRST_PRODUCE_VERSION if api == "produce" else low
    values: dict[str, object] = {"group_id": "sweep", "timeout": 1000}
    if api == "produce":
        values["acks"] = 1
    if api == "api_versions":
        values.update(SOFTWARE)
    if api == "describe_acls":
        values.update(dict.fromkeys(("resource_type_filter", "operation", "permission_type"), 1))  # any
    for version in range(first, high + 1):
        client.call(api, version, **values)


def test_update_features_answers_at_every_version(client: RawClient) -> None:
    """UpdateFeatures is answered at every version; an empty list of updates changes nothing."""
    for version in range(3):
        client.call("update_features", version, timeout=1000, feature_updates=[])


@pytest.mark.parametrize("version", [0, 3])
def test_answer_of_api_versions_has_the_oldest_header(client: RawClient, version: int) -> None:
    """ApiVersions answers carry header v0 at every version: a client can read them knowing nothing."""
    sent = client.send("api_versions", version, **SOFTWARE)
    payload = client.receive_frame()
    assert struct.unpack_from(">ih", payload) == (sent, ErrorCode.none)


def test_null_client_id_is_fine(broker: BrokerProcess) -> None:
    """The client id in a request header may be null."""
    with RawClient(broker.host, broker.port, client_id=None) as client:
        assert client.call("metadata", 12, topics=[]).brokers


def test_tagged_fields_that_nobody_knows_are_skipped(client: RawClient) -> None:
    """Unknown tagged fields in header and body of a flexible request are ignored."""
    tag = b"\x01\xe7\x07\x03abc"  # one field, tag 999, three bytes
    header = encode_header(API_KEYS["metadata"], 12, 5)
    body = b"\x01" + b"\x00" + b"\x00"  # no topics, no auto-creation, no authorized operations
    client.send_bytes(frame(header + tag + body + tag))
    correlation_id, answer = client.receive("metadata", 12)
    assert correlation_id == 5
    assert answer.brokers


def test_answer_schemas_exist_for_the_whole_table() -> None:
    """The table of this file names only versions that the protocol defines."""
    for api, (_, high) in RANGES.items():
        assert response_schema(api, high)
