"""Client telemetry (KIP-714): subscriptions as config resources, who may push what and when, and what is refused.

Apache Kafka answers these requests only with a metrics reporter that takes telemetry; as the control it is started
with one that forgets everything.
"""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from penstock.model.compression import CODEC_NAMES, ZSTD, compress
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import running, target_kind
from tests.support.kafka_process import KafkaProcess, compiled_sink
from tests.support.metrics_data import gauge, metrics_data, point
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01")

CLIENT_METRICS = 16
SET, DELETE, APPEND = 0, 1, 2
FROM_SUBSCRIPTION, FROM_DEFAULT = 7, 5
INTERVAL_MS = 100
PAYLOAD = metrics_data(gauge("org.apache.kafka.test", point(1.5)))
UNUSED = uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)


@pytest.fixture(scope="module")
def telemetry_broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    if target_kind() != "kafka":
        yield request.getfixturevalue("broker")
        return
    directory = tmp_path_factory.mktemp("telemetry")
    classes = compiled_sink(directory)
    if classes is None:
        pytest.skip("needs a Java compiler")
    yield from running(KafkaProcess(directory, {"metric.reporters": "TelemetrySink"}, more_classes=classes))


@pytest.fixture
def talker(telemetry_broker: BrokerProcess) -> Iterator[RawClient]:
    """A client that has told its name, as real ones do. Whatever it subscribes to is gone when the test ends."""
    with RawClient(telemetry_broker.host, telemetry_broker.port) as client:
        client.call("api_versions", 3, client_software_name="telemetry-facts", client_software_version="1.2.3")
        yield client
        for name in listed(client):
            replace(client, name, {})
        wait_until(lambda: not listed(client), what="no subscriptions are left")


def listed(client: RawClient) -> list[str]:
    answer = client.call("list_config_resources", 0)
    assert answer.error_code == ErrorCode.none
    return sorted(resource.resource_name for resource in answer.config_resources)


def alter(client: RawClient, name: str, *steps: tuple[str, int, str | None], **options: Any) -> tuple[ErrorCode, str]:
    configs = [{"name": key, "config_operation": step, "value": value} for key, step, value in steps]
    resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configs": configs}
    (answer,) = client.call("incremental_alter_configs", 1, resources=[resource], **options).responses
    return answer.error_code, answer.error_message or ""


def replace(client: RawClient, name: str, configs: dict[str, str | None]) -> ErrorCode:
    wanted = [{"name": key, "value": value} for key, value in configs.items()]
    resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configs": wanted}
    (answer,) = client.call("alter_configs", 2, resources=[resource]).responses
    return ErrorCode(answer.error_code)


def described(client: RawClient, name: str, *keys: str) -> list[tuple[Any, ...]]:
    resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configuration_keys": list(keys) or None}
    (answer,) = client.call("describe_configs", 4, resources=[resource], include_synonyms=True).results
    assert answer.error_code == ErrorCode.none
    synonyms = {
        config.name: [(each.name, each.value, each.source) for each in config.synonyms] for config in answer.configs
    }
    return [
        (config.name, config.value, config.config_source, int(config.config_type), synonyms[config.name])
        for config in answer.configs
    ]


def subscribe(client: RawClient, **configs: str) -> str:
    """A subscription, in force when this returns."""
    name = unique_name("subscription")
    steps = [(key.replace("_", "."), SET, value) for key, value in configs.items()]
    assert alter(client, name, *steps) == (ErrorCode.none, "")
    wait_until(lambda: name in listed(client), what=f"{name} is listed")
    return name


def get(client: RawClient, instance_id: uuid.UUID | None = None) -> Any:
    return client.call("get_telemetry_subscriptions", 0, client_instance_id=instance_id)


def push(client: RawClient, got: Any, payload: bytes = PAYLOAD, **more: Any) -> ErrorCode:
    values = {
        "client_instance_id": got.client_instance_id,
        "subscription_id": got.subscription_id,
        "terminating": False,
        "compression_type": 0,
        "metrics": payload,
        **more,
    }
    return ErrorCode(client.call("push_telemetry", 0, **values).error_code)


def in_time(act: Callable[[], ErrorCode]) -> ErrorCode:
    """The answer to a push that is not early; one that is says nothing about anything else."""
    answers: list[ErrorCode] = []

    def not_early() -> bool:
        answers.append(act())
        return answers[-1] != ErrorCode.throttling_quota_exceeded

    wait_until(not_early, what="the interval is over")
    return answers[-1]


# ------------------------------------------------------------------------------------------------------------ configs


def test_a_subscription_is_described_with_what_is_set(talker: RawClient) -> None:
    name = subscribe(talker, metrics=" b , a ,b", interval_ms=" 1000 ")
    assert described(talker, name) == [
        ("interval.ms", "1000", FROM_SUBSCRIPTION, 3, [("interval.ms", "1000", FROM_SUBSCRIPTION)]),
        ("match", "", FROM_DEFAULT, 7, []),
        ("metrics", "b,a", FROM_SUBSCRIPTION, 7, [("metrics", "b,a", FROM_SUBSCRIPTION)]),
    ]
    assert [config[0] for config in described(talker, name, "match", "nope")] == ["match"]


def test_a_subscription_without_configs_is_none(talker: RawClient) -> None:
    name = subscribe(talker, metrics="a", interval_ms="1000")
    assert replace(talker, name, {"match": "client_id=.*"}) == ErrorCode.none
    wait_until(lambda: described(talker, name, "metrics")[0][2] == FROM_DEFAULT, what="metrics have their default")
    assert alter(talker, name, ("match", DELETE, None), ("nope", DELETE, None)) == (ErrorCode.none, "")
    wait_until(lambda: name not in listed(talker), what=f"{name} is gone")
    assert [config[2] for config in described(talker, name)] == [FROM_DEFAULT] * 3


def test_validation_only_changes_nothing(talker: RawClient) -> None:
    name = unique_name("subscription")
    assert alter(talker, name, ("metrics", SET, "a"), validate_only=True) == (ErrorCode.none, "")
    assert name not in listed(talker)


@pytest.mark.parametrize(
    ("key", "value", "code", "message"),
    [
        ("interval.ms", "99", ErrorCode.invalid_request, "interval must be between 100 and 3600000 (1 hour)"),
        ("interval.ms", "3600001", ErrorCode.invalid_request, "interval must be between 100 and 3600000 (1 hour)"),
        ("interval.ms", "soon", ErrorCode.invalid_config, "Not a number of type INT"),
        ("interval.ms", "", ErrorCode.invalid_config, "Not a number of type INT"),
        ("metrics", "a,,b", ErrorCode.invalid_config, "Configuration 'metrics' values must not be empty."),
        ("metrics", ",", ErrorCode.invalid_config, "Configuration 'metrics' values must not be empty."),
        ("metrics", None, ErrorCode.invalid_request, "Null value not supported for : metrics"),
        ("match", "client_id", ErrorCode.invalid_config, "Illegal client matching pattern: client_id"),
        ("match", "client_id=", ErrorCode.invalid_config, "Illegal client matching pattern: client_id="),
        ("match", "client_id=a=b", ErrorCode.invalid_config, "Illegal client matching pattern: client_id=a=b"),
        ("match", "=a", ErrorCode.invalid_config, "Illegal client matching pattern: =a"),
        ("match", "colour=red", ErrorCode.invalid_config, "Illegal client matching pattern: colour=red"),
        ("match", "client_id=([", ErrorCode.invalid_config, "Illegal client matching pattern: client_id=(["),
        ("nope", "a", ErrorCode.invalid_request, "Unknown client metrics configuration: nope"),
    ],
)
def test_values_that_are_none(talker: RawClient, key: str, value: str | None, code: ErrorCode, message: str) -> None:
    refused, told = alter(talker, unique_name("subscription"), (key, SET, value))
    assert (refused, message in told) == (code, True), told
    assert replace(talker, unique_name("subscription"), {key: value}) == code


def test_lists_are_set_as_a_whole(talker: RawClient) -> None:
    """Nothing can be appended to them, and a subscription must have a name."""
    code, message = alter(talker, "s", ("metrics", APPEND, "a"))
    assert (code, message) == (
        ErrorCode.invalid_config,
        "Can't APPEND to key metrics because its type is not LIST.",
    )
    assert alter(talker, "", ("metrics", SET, "a")) == (ErrorCode.invalid_request, "Subscription name can't be empty")


# ------------------------------------------------------------------------------------------------------- subscriptions


def test_a_client_gets_an_id_and_nothing_to_do(talker: RawClient) -> None:
    answer = get(talker)
    assert answer.error_code == ErrorCode.none
    assert answer.client_instance_id.version == 4
    assert (answer.requested_metrics, answer.accepted_compression_types) == ((), (4, 3, 1, 2))
    assert (answer.push_interval.total_seconds(), answer.telemetry_max_bytes) == (300, 1 << 20)
    assert answer.delta_temporality is True


def test_a_client_that_has_an_id_keeps_it(talker: RawClient) -> None:
    """The subscription id is a checksum over what is asked for and of whom: the same on every broker."""
    subscribe(talker, metrics="b.c,org.apache.kafka.producer.,a,zzz,kkk", interval_ms="100")
    answer = get(talker, UNUSED)
    assert (answer.client_instance_id, answer.subscription_id) == (UNUSED, 48413179)
    assert answer.requested_metrics == ("org.apache.kafka.producer.", "a", "b.c", "kkk", "zzz")
    assert answer.push_interval.total_seconds() == 0.1
    assert get(talker, uuid.UUID(int=1)).error_code == ErrorCode.none


def test_all_metrics_of_two_subscriptions(talker: RawClient) -> None:
    """The shortest interval, and everything if one of them wants everything."""
    subscribe(talker, metrics="a", interval_ms="1000")
    subscribe(talker, metrics="*,b", interval_ms="2000")
    answer = get(talker)
    assert (answer.requested_metrics, answer.push_interval.total_seconds()) == (("*",), 1)


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ("client_id=wire", True),
        ("client_id=wi", False),
        ("client_software_name=telemetry-.*,client_software_version=1.2.*", True),
        ("client_software_name=telemetry-.*,client_software_version=2.*", False),
        (r"client_source_address=127\.0\.0\.1,client_source_port=\d+,client_instance_id=[\w-]{22}", True),
        ("client_id=nobody,client_id=wire", True),
    ],
)
def test_clients_are_chosen_by_what_is_known_of_them(talker: RawClient, match: str, matches: bool) -> None:
    subscribe(talker, metrics="a", match=match)
    assert get(talker).requested_metrics == (("a",) if matches else ())


def test_asking_before_the_interval_is_over(talker: RawClient) -> None:
    first = get(talker)
    again = get(talker, first.client_instance_id)
    assert again.error_code == ErrorCode.throttling_quota_exceeded
    assert (again.client_instance_id, again.subscription_id, again.telemetry_max_bytes) == (None, 0, 0)
    subscribe(talker, metrics="a")
    changed = get(talker, first.client_instance_id)
    assert (changed.error_code, changed.requested_metrics) == (ErrorCode.none, ("a",))


# -------------------------------------------------------------------------------------------------------------- pushes


def test_pushes_come_once_an_interval(talker: RawClient) -> None:
    got = get(talker)
    assert push(talker, got) == ErrorCode.none
    assert push(talker, got) == ErrorCode.throttling_quota_exceeded
    assert push(talker, got, terminating=True) == ErrorCode.none
    assert push(talker, got) == ErrorCode.invalid_request
    assert push(talker, got) == ErrorCode.throttling_quota_exceeded


@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)))
def test_every_codec_is_taken(talker: RawClient, codec: int) -> None:
    got = get(talker)
    assert push(talker, got, bytes(compress(codec, PAYLOAD)), compression_type=codec) == ErrorCode.none


def test_nothing_may_be_pushed(talker: RawClient) -> None:
    assert push(talker, get(talker), b"") == ErrorCode.none


@pytest.mark.parametrize("instance_id", [None, uuid.UUID(int=1)])
def test_ids_that_no_client_has(talker: RawClient, instance_id: uuid.UUID | None) -> None:
    assert push(talker, get(talker), client_instance_id=instance_id) == ErrorCode.invalid_request


def test_a_client_that_was_refused_asks_again(talker: RawClient) -> None:
    subscribe(talker, metrics="a", interval_ms=str(INTERVAL_MS))
    got = get(talker)
    assert push(talker, got, subscription_id=got.subscription_id + 1) == ErrorCode.unknown_subscription_id
    assert get(talker, got.client_instance_id).error_code == ErrorCode.none
    for codec in (5, -1):
        refused = in_time(lambda codec=codec: push(talker, got, compression_type=codec))  # type: ignore[misc]
        assert refused == ErrorCode.unsupported_compression_type
    assert get(talker, got.client_instance_id).error_code == ErrorCode.none


def test_too_many_bytes(talker: RawClient) -> None:
    assert push(talker, get(talker), bytes((1 << 20) + 1)) == ErrorCode.telemetry_too_large


@pytest.mark.parametrize("codec", range(1, len(CODEC_NAMES)))
def test_bytes_that_no_codec_made(talker: RawClient, codec: int) -> None:
    assert push(talker, get(talker), b"garbage", compression_type=codec) == ErrorCode.invalid_record


@pytest.mark.usefixtures("penstock_only")
def test_bytes_that_are_no_metrics(talker: RawClient) -> None:
    """Kafka leaves it to its reporter whether they are; a bomb costs it what it claims."""
    assert push(talker, get(talker), b"garbage") == ErrorCode.invalid_record
    bomb = bytes(compress(ZSTD, bytes(64 << 20)))
    assert push(talker, get(talker), bomb, compression_type=ZSTD) == ErrorCode.telemetry_too_large


def test_clients_that_push_without_having_asked(talker: RawClient) -> None:
    """Their subscription id decides, as after a change of brokers."""
    subscribe(talker, metrics="b.c,org.apache.kafka.producer.,a,zzz,kkk", interval_ms="100")
    values = {"client_instance_id": UNUSED, "terminating": False, "compression_type": 0, "metrics": PAYLOAD}
    known = ErrorCode(talker.call("push_telemetry", 0, subscription_id=48413179, **values).error_code)
    assert known == ErrorCode.none
    values["client_instance_id"] = uuid.uuid4()
    unknown = ErrorCode(talker.call("push_telemetry", 0, subscription_id=48413179, **values).error_code)
    assert unknown == ErrorCode.unknown_subscription_id
