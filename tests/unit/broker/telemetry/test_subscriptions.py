"""Which subscriptions match a client, and the ids that Apache Kafka gives the result."""

import uuid

import pytest

from penstock.broker.telemetry.subscriptions import Client, MetricsSubscription, assign, hash_set_order, to_subscription
from penstock.model.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.feature("F-01")

INSTANCE = uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
CLIENT = Client(
    client_instance_id="EjRWeJCrze8SNFZ4kKvN7w",
    client_id="wire",
    client_software_name="pen-test",
    client_software_version="1.2.3",
    client_source_address="127.0.0.1",
    client_source_port="40000",
)


def subscription(metrics: str = "", interval_ms: int = 300_000, match: str = "") -> MetricsSubscription:
    return to_subscription({"metrics": metrics, "interval.ms": str(interval_ms), "match": match})


@pytest.mark.parametrize(
    ("subscriptions", "subscription_id", "interval_ms", "metrics"),
    [
        ([], -725132322, 300_000, []),
        ([subscription("", 1_000)], 1788331976, 1_000, []),
        (
            [subscription("b.c,org.apache.kafka.producer.,a,zzz,kkk", 100)],
            48413179,
            100,
            ["org.apache.kafka.producer.", "a", "b.c", "kkk", "zzz"],
        ),
        ([subscription("b.c,a", 100), subscription("*", 200)], 899611809, 100, ["*"]),
        (
            [
                subscription("b.c,org.apache.kafka.producer.,a,zzz,kkk", 100),
                subscription("x"),
                subscription("only.this"),
            ],
            -174257409,
            100,
            ["org.apache.kafka.producer.", "a", "b.c", "only.this", "x", "kkk", "zzz"],
        ),
    ],
)
def test_ids_are_those_of_kafka(
    subscriptions: list[MetricsSubscription], subscription_id: int, interval_ms: int, metrics: list[str]
) -> None:
    """The numbers are what Apache Kafka 4.3 answered for the same subscriptions and the same client."""
    assert assign(subscriptions, CLIENT, INSTANCE) == (subscription_id, interval_ms, tuple(metrics))


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ("", True),
        ("client_id=wire", True),
        ("client_id=wi", False),
        ("client_id=ire", False),
        ("client_id=wi.*", True),
        (" client_id = (?i)WIRE , client_software_name=pen-.*", True),
        ("client_id=wire,client_software_name=other", False),
        (r"client_software_version=1\.2\.\d+", True),
        ("client_source_address=127.0.0.1,client_source_port=[0-9]+", True),
        ("client_instance_id=.{22}", True),
        ("client_id=other,client_id=wire", True),
    ],
)
def test_all_selectors_match_as_a_whole(match: str, matches: bool) -> None:
    assert subscription(match=match).matches(CLIENT) is matches


def test_a_client_without_a_name_is_matched_by_no_name() -> None:
    assert not subscription(match="client_id=.*").matches(CLIENT._replace(client_id=None))


@pytest.mark.parametrize(
    "match",
    [
        "client_id",
        "client_id=",
        "=x",
        "client_id=a=b",
        "colour=red",
        "client_id=([",
        "client_id=(?=a)",
        r"client_id=(a)\1",
    ],
)
def test_what_is_no_pattern(match: str) -> None:
    with pytest.raises(KafkaError, match="Illegal client matching pattern") as refused:
        subscription(match=match)
    assert refused.value.code is ErrorCode.INVALID_CONFIG


def test_a_careless_pattern_and_a_crafted_name_cost_nothing() -> None:
    careless = subscription(match="client_id=(a+)+b")
    assert not careless.matches(CLIENT._replace(client_id="a" * 30_000))


def test_names_are_in_the_order_of_a_hash_set() -> None:
    """The order that Java printed for the same strings; 'Aa' and 'BB' have the same hash and stay as inserted."""
    names = [f"n{number}" for number in range(13)]
    assert hash_set_order(names) == [*names[:11], "n12", "n11"]
    assert hash_set_order(["c", "é😀", "ab"]) == ["ab", "é😀", "c"]
    assert hash_set_order(["BB", "Aa"]) == ["BB", "Aa"]
