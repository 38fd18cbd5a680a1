"""GetTelemetrySubscriptions and PushTelemetry, through the codecs and the process that decodes pushes."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.model.compression import ZSTD, compress
from penstock.model.errors import ErrorCode
from tests.support.admin_broker import AdminBroker
from tests.support.metrics_data import gauge, metrics_data, point, total

pytestmark = pytest.mark.feature("F-01")

CLIENT_METRICS, SET = 16, 0


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker(telemetry={"bytes_max": 2_000, "linger_ms": 0}) as node:
        yield node


def subscribe(node: AdminBroker, name: str = "s", **configs: str) -> None:
    changes = [
        {"name": key.replace("_", "."), "config_operation": SET, "value": value} for key, value in configs.items()
    ]
    resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configs": changes}
    (answer,) = node.call("incremental_alter_configs", 1, resources=[resource]).responses
    assert answer.error_code == 0, answer


def get(node: AdminBroker, instance_id: uuid.UUID | None = None) -> Any:
    return node.call("get_telemetry_subscriptions", 0, client_instance_id=instance_id)


def push(node: AdminBroker, got: Any, payload: bytes = b"", **more: Any) -> ErrorCode:
    values = {
        "client_instance_id": got.client_instance_id,
        "subscription_id": got.subscription_id,
        "terminating": False,
        "compression_type": 0,
        "metrics": payload,
        **more,
    }
    return ErrorCode(node.call("push_telemetry", 0, **values).error_code)


def shown(node: AdminBroker) -> dict[str, float]:
    return {sample.family: sample.value for sample in node.broker.telemetry.samples()}


def test_long_texts_of_a_client_are_cut(node: AdminBroker) -> None:
    """They may have 32 KB, and are kept as long as the connection."""
    session = node.channel.session.with_client_id("c" * 32_000)
    session = session.with_software("s" * 32_000, "1" * 32_000)
    node.channel.renew(session)
    subscribe(node, metrics="*", match="client_id=c+")
    got = get(node)
    assert got.requested_metrics == ("*",)
    instance = node.broker.telemetry.subscribe(uuid.uuid4(), node.channel)
    assert max(len(text or "") for text in instance.client) == 249


def test_without_subscriptions_nothing_is_asked_for(node: AdminBroker) -> None:
    answer = get(node)
    assert answer.error_code == 0
    assert answer.client_instance_id.version == 4
    assert (answer.requested_metrics, answer.accepted_compression_types) == ((), (4, 3, 1, 2))
    assert (answer.push_interval.total_seconds(), answer.telemetry_max_bytes) == (300, 2_000)
    assert answer.delta_temporality


def test_asking_too_often(node: AdminBroker) -> None:
    refused = get(node, get(node).client_instance_id)
    assert refused.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert (refused.client_instance_id, refused.subscription_id, refused.requested_metrics) == (None, 0, ())


def test_a_change_of_subscriptions_is_told_at_once(node: AdminBroker) -> None:
    before = get(node)
    subscribe(node, metrics="a,b", interval_ms="1000", match="client_id=te.*")
    after = get(node, before.client_instance_id)
    assert (after.error_code, sorted(after.requested_metrics)) == (0, ["a", "b"])
    assert after.subscription_id != before.subscription_id
    assert push(node, before) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert get(node, before.client_instance_id).error_code == 0


def test_pushes_are_shown(node: AdminBroker) -> None:
    subscribe(node, metrics="*")
    got = get(node)
    payload = metrics_data(gauge("g", point(1.5)), total("org.apache.kafka.x.total", point(2)))
    assert push(node, got, bytes(compress(ZSTD, payload)), compression_type=ZSTD) is ErrorCode.NONE
    assert shown(node) == {"penstock_telemetry_client_info": 1, "kafka_client_g": 1.5, "kafka_client_x_total": 2}
    assert push(node, got, payload) is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_the_last_push(node: AdminBroker) -> None:
    subscribe(node, metrics="*")
    got = get(node)
    payload = metrics_data(gauge("g", point(1.5)))
    assert push(node, got, payload) is ErrorCode.NONE
    assert push(node, got, payload, terminating=True) is ErrorCode.NONE
    assert shown(node) == {}  # after linger_ms, which is 0 here
    assert push(node, got, payload) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"client_instance_id": None}, ErrorCode.INVALID_REQUEST),
        ({"client_instance_id": uuid.UUID(int=1)}, ErrorCode.INVALID_REQUEST),
        ({"subscription_id": 77}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"compression_type": -1}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": bytes(2_001)}, ErrorCode.TELEMETRY_TOO_LARGE),
        ({"metrics": b"garbage"}, ErrorCode.INVALID_RECORD),
        ({"metrics": compress(ZSTD, bytes(8_001)), "compression_type": ZSTD}, ErrorCode.TELEMETRY_TOO_LARGE),
    ],
)
def test_refused_pushes(node: AdminBroker, values: dict[str, Any], code: ErrorCode) -> None:
    assert push(node, get(node), **values) is code
    assert shown(node) == {}


def test_series_begin_anew_when_the_subscription_changes(node: AdminBroker) -> None:
    subscribe(node, metrics="a")
    got = get(node)
    payload = metrics_data(total("a", point(2)))
    assert push(node, got, payload) is ErrorCode.NONE
    subscribe(node, metrics="a,b")
    assert push(node, get(node, got.client_instance_id), payload) is ErrorCode.NONE
    assert shown(node)["kafka_client_a_total"] == 2


def test_clients_are_forgotten_with_their_connection(node: AdminBroker) -> None:
    subscribe(node, metrics="*")
    assert push(node, get(node), metrics_data(gauge("g", point(1)))) is ErrorCode.NONE
    telemetry = node.broker.telemetry
    assert (telemetry.client_count, telemetry.series.count) == (1, 2)  # the info counts
    node.channel.closed()
    assert (telemetry.client_count, shown(node)) == (0, {})
    node.run(telemetry.sweep())


def test_there_is_a_limit_to_subscriptions(node: AdminBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.broker.operations.config_changes.CLIENT_METRICS_SUBSCRIPTIONS_MAX", 1)
    subscribe(node, "one", metrics="a")
    subscribe(node, "one", metrics="b")
    resource = {"resource_type": CLIENT_METRICS, "resource_name": "two", "configs": []}
    (answer,) = node.call("incremental_alter_configs", 1, resources=[resource]).responses
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
