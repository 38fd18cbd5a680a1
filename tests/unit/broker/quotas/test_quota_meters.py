"""Precedence and sharing of quotas, and the removal of idle meters."""

import pytest

from penstock.broker.quotas.addresses import AddressQuotas, resolve
from penstock.broker.quotas.entity import Entity, entity_of_text, entity_text, make_entity
from penstock.broker.quotas.meters import Client, ClientMeters
from penstock.broker.quotas.rate import Rate
from penstock.model.limits import QUOTA_METERS_KEPT, QUOTA_METERS_MAX
from penstock.model.text.address import literal

pytestmark = pytest.mark.feature("F-01")

T = 5_000_000
ME: Client = ("me", "app")


def entity(**names: str | None) -> Entity:
    return make_entity((kind.replace("_", "-"), name) for kind, name in names.items())


PRECEDENCE = [
    entity(user="me", client_id="app"),
    entity(user="me", client_id=None),
    entity(user="me"),
    entity(user=None, client_id="app"),
    entity(user=None, client_id=None),
    entity(user=None),
    entity(client_id="app"),
    entity(client_id=None),
]


def limit_of(meters: ClientMeters[Rate], client: Client = ME) -> float | None:
    meter = meters.of(client, T)
    return None if meter is None else meter.limit


def test_the_most_specific_quota_counts() -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    for number, whom in enumerate(PRECEDENCE):
        meters.set_limit(whom, float(number + 1))
    for number, whom in enumerate(PRECEDENCE):
        assert limit_of(meters) == number + 1
        meters.set_limit(whom, None)
    assert limit_of(meters) is None
    assert not meters


@pytest.mark.parametrize("whom", PRECEDENCE)
def test_each_counts_alone(whom: Entity) -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(whom, 5.0)
    assert limit_of(meters) == 5.0


@pytest.mark.parametrize(
    ("whom", "shared"),
    [
        (entity(user="me"), True),
        (entity(user=None), True),  # by the clients of a user
        (entity(client_id=None), False),
        (entity(user="me", client_id=None), False),
        (entity(user=None, client_id=None), False),
    ],
)
def test_who_shares_a_quota(whom: Entity, shared: bool) -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(whom, 5.0)
    assert (meters.of(("me", "one"), T) is meters.of(("me", "two"), T)) == shared
    assert meters.of(("me", "one"), T) is meters.of(("me", "one"), T)


def test_client_ids_are_shared_by_users() -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(client_id="app"), 5.0)
    assert meters.of(("one", "app"), T) is meters.of(("two", "app"), T)


@pytest.mark.parametrize("client_id", [None, ""])
def test_clients_without_an_id_have_only_the_limits_of_their_user(client_id: str | None) -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(client_id=None), 5.0)
    assert limit_of(meters, ("me", client_id)) is None
    meters.set_limit(entity(user="me"), 7.0)
    assert limit_of(meters, ("me", client_id)) == 7.0


@pytest.mark.parametrize("limit", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_limit(limit: float) -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(user=None), limit)
    assert not meters
    assert limit_of(meters) is None


def test_a_new_limit_is_for_what_was_used_before_too() -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(user="me"), 1000.0)
    meter = meters.of(ME, T)
    assert meter is not None
    meter.add(5000, T)
    meters.set_limit(entity(user="me"), 100.0)
    changed = meters.of(ME, T)
    assert changed is meter
    assert changed.wait_ms(T) == 40_000


def test_idle_meters_are_forgotten_and_busy_ones_are_not() -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(client_id=None), 1.0)
    busy = meters.of(("me", "busy"), T)
    assert busy is not None
    for number in range(20 * QUOTA_METERS_KEPT):
        now_ms = T + number * 100
        meter = meters.of(("me", f"client-{number}"), now_ms)
        assert meter is not None
        meter.add(1, now_ms)
        assert meters.of(("me", "busy"), now_ms) is busy
        busy.add(1, now_ms)
        assert len(meters._meters) <= QUOTA_METERS_KEPT


def test_of_very_many_busy_meters_the_one_unused_longest_is_forgotten() -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(client_id=None), 1.0)
    busy, first = meters.of(("me", "busy"), T), meters.of(("me", "client-0"), T)
    for number in range(QUOTA_METERS_MAX + 10):
        meter = meters.of(("me", f"client-{number}"), T)
        assert meter is not None
        meter.add(1, T)
        assert meters.of(("me", "busy"), T) is busy
    assert len(meters._meters) <= QUOTA_METERS_MAX
    assert meters.of(("me", "client-0"), T) is not first


def test_long_client_ids_have_meters_but_are_not_kept() -> None:
    meters: ClientMeters[Rate] = ClientMeters(Rate)
    meters.set_limit(entity(client_id=None), 1.0)
    ids = ["x" * 32_000 + str(number) for number in range(10)]
    meters.set_limit(entity(client_id=ids[0]), 2.0)
    found = [meters.of(("me", client_id), T) for client_id in ids]
    assert found == [meters.of(("me", client_id), T) for client_id in ids]
    assert len(set(map(id, found))) == len(ids)
    assert [limit_of(meters, ("me", client_id)) for client_id in ids[:2]] == [2.0, 1.0]
    assert all(len(client_id) <= 249 for _, client_id in meters._meters._meters if isinstance(client_id, str | bytes))


def test_addresses() -> None:
    quotas = AddressQuotas()
    assert not quotas
    quotas.set_limit("10.0.0.1", 1.0)
    quotas.set_limit(None, 2.0)
    assert [quotas.connected("10.0.0.1", T) for _ in range(11)] == [0] * 10 + [1000]
    assert quotas.connected("10.0.0.1", T) == 1000  # one that is refused does not count
    assert quotas.connected("::ffff:10.0.0.1", T) == 1000
    assert [quotas.connected("10.0.0.2", T) for _ in range(21)] == [0] * 20 + [500]
    quotas.set_limit(None, None)
    assert quotas.connected("10.0.0.2", T) == 0
    quotas.set_limit("fe80::1", 1.0)
    assert [quotas.connected("fe80::1%eth0", T) for _ in range(11)] == [0] * 10 + [1000]


def test_hosts() -> None:
    assert literal("127.0.0.1") == "127.0.0.1"
    assert literal("2001:DB8:0::7") == "2001:db8::7"
    assert literal("localhost") is None
    assert resolve("localhost") in ("127.0.0.1", "::1")
    assert resolve("999.1.1.1") is None
    assert resolve("a..b") is None


def test_entities_as_text() -> None:
    for whom in (entity(user='ä "b"', client_id=None), entity(ip="::1"), entity(user="<default>")):
        assert entity_of_text(entity_text(whom)) == whom
