"""The admission of connections, decided without sockets: who gets a place, who has to give one back."""

import asyncio
import gc
import weakref
from collections.abc import Callable

import pytest

from penstock.config.settings import Settings
from penstock.net.admission.address_rates import SWEPT_FROM, AddressRates
from penstock.net.admission.admission import Admission, AdmissionLimits
from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Refusal, Ticket
from penstock.node.admission import build_doors, connect_admission_probes
from penstock.observability.health import Health, Phase
from penstock.observability.metrics import BrokerMetrics

pytestmark = pytest.mark.feature("F-06")


class World:
    """An admission with a clock that is set by hand, and the connections that it has dropped."""

    def __init__(self, connections_max: int = 16, per_address_max: int = 1_000, rate: int = 0) -> None:
        self.now = 100.0
        limits = AdmissionLimits(
            connections_max=connections_max, per_address_max=per_address_max, rate_per_address_max=rate
        )
        self.admission = Admission(limits, clock=lambda: self.now)
        self.kafka = self.admission.door("kafka", reserve=2, silent_seconds_max=30.0)
        self.push = self.admission.door("push", silent_seconds_max=40.0)
        self.http = self.admission.door("http", reserve=1, silent_seconds_max=10.0)
        self.dropped: list[str] = []

    def come(self, door: Door, name: str = "client", host: str = "192.0.2.1") -> Ticket | Refusal:
        return door.admit(host, lambda: self.dropped.append(name))

    def enter(self, door: Door, name: str = "client", host: str = "192.0.2.1") -> Ticket:
        admitted = self.come(door, name, host)
        assert isinstance(admitted, Ticket)
        return admitted

    def speak(self, door: Door, count: int) -> list[Ticket]:
        """Connections of clients that have sent a request."""
        tickets = [self.enter(door) for _ in range(count)]
        for ticket in tickets:
            ticket.confirm()
        return tickets

    def log_in(self, door: Door, name: str, owner: str, last_used: Callable[[], float] = lambda: 0.0) -> Ticket:
        """A connection of a client that has logged in as `owner`."""
        ticket = self.enter(door, name)
        ticket.heard()
        ticket.confirm(owner, last_used)
        return ticket


def test_the_total_counts_all_doors_and_keeps_a_few_places_for_kafka_and_probes() -> None:
    world = World(connections_max=16)
    world.speak(world.push, 13)
    assert world.come(world.push) is Refusal.TOTAL
    world.speak(world.http, 1)
    assert world.come(world.http) is Refusal.TOTAL  # two places are Kafka's
    tickets = world.speak(world.kafka, 2)
    assert world.come(world.kafka) is Refusal.TOTAL
    assert world.admission.open_count == 16
    assert world.dropped == []
    tickets[0].release()
    tickets[0].release()
    assert world.admission.open_count == 15
    assert world.come(world.push) is Refusal.TOTAL  # the place is Kafka's still
    world.speak(world.kafka, 1)
    assert world.push.refused == {"total": 2}
    assert world.kafka.refused == {"total": 1}


def test_a_small_total_has_no_reserve() -> None:
    world = World(connections_max=2)
    world.speak(world.push, 2)
    assert world.come(world.kafka) is Refusal.TOTAL


def test_silent_connections_give_way_to_new_ones_the_oldest_first() -> None:
    world = World(connections_max=16)
    for number in range(14):
        world.enter(world.http, f"silent {number}")
    world.speak(world.kafka, 2)
    assert world.dropped == []
    world.speak(world.kafka, 1)
    assert world.dropped == ["silent 0"]
    world.speak(world.push, 1)
    assert world.dropped == ["silent 0", "silent 1"]
    world.enter(world.http, "another")
    assert world.dropped == ["silent 0", "silent 1", "silent 2"]
    assert world.admission.open_count == 16
    assert world.http.dropped == {"room": 3}
    assert world.admission.seconds_since_full() is None  # nobody was refused


def test_the_door_with_most_silent_connections_loses_one() -> None:
    world = World(connections_max=16)
    world.enter(world.push, "an older one")
    for number in range(3):
        world.enter(world.http, f"silent {number}")
    world.speak(world.kafka, 12)
    world.speak(world.kafka, 1)
    assert world.dropped == ["silent 0"]


def test_a_connection_that_has_sent_a_request_stays() -> None:
    world = World(connections_max=16)
    world.speak(world.http, 14)
    world.speak(world.kafka, 2)
    assert world.come(world.kafka) is Refusal.TOTAL
    world.now += 3_600
    asyncio.run(world.admission.sweep())
    assert world.dropped == []


def test_a_place_within_the_reserve_of_a_door_is_not_taken_from_it() -> None:
    world = World(connections_max=16)
    world.speak(world.push, 13)
    world.enter(world.kafka, "a Kafka client that connects")
    assert world.come(world.push) is Refusal.TOTAL
    assert world.dropped == []


def test_the_first_request_has_a_time_limit_of_its_door() -> None:
    world = World()
    world.enter(world.kafka, "kafka")
    world.enter(world.http, "http")
    world.enter(world.http, "http that speaks").confirm()
    world.enter(world.http, "http that goes").release()
    world.now += 10.5
    world.enter(world.http, "later")
    asyncio.run(world.admission.sweep())
    assert world.dropped == ["http"]
    world.now += 20
    asyncio.run(world.admission.sweep())
    assert world.dropped == ["http", "kafka", "later"]
    assert world.http.dropped == {"timeout": 2}
    assert world.admission.open_count == 1


def test_a_stranger_gives_way_after_a_request_but_has_the_time_of_its_login() -> None:
    world = World(connections_max=16)
    for _ in range(13):
        world.enter(world.http, "stranger").heard()
    user = world.enter(world.http, "user")
    user.heard()
    user.confirm()
    world.now += 60
    asyncio.run(world.admission.sweep())
    assert world.dropped == []
    world.speak(world.push, 2)
    assert world.dropped == ["stranger", "stranger"]
    for _ in range(13):
        world.speak(world.kafka, 1)
    assert world.dropped == ["stranger"] * 13
    assert world.come(world.http) is Refusal.TOTAL
    user.release()
    assert world.http.open_count == world.http.loose_count == 0


def test_a_crowd_of_strangers_gives_way_before_a_client_that_has_just_come() -> None:
    world = World(connections_max=16)
    for number in range(13):
        world.enter(world.kafka, f"stranger {number}").heard()
        world.now += 1
    world.enter(world.kafka, "new")
    for _ in range(13):
        world.now += 1
        world.speak(world.kafka, 1)
    assert "new" not in world.dropped
    assert "stranger 0" in world.dropped


def test_a_stranger_gives_way_to_others_of_its_address() -> None:
    world = World(per_address_max=2)
    world.speak(world.http, 1)
    world.enter(world.http, "stranger").heard()
    world.speak(world.http, 1)
    assert world.dropped == ["stranger"]
    assert world.come(world.http) is Refusal.ADDRESS


def test_a_push_client_at_the_kafka_port_is_counted_once() -> None:
    world = World(connections_max=16)
    world.speak(world.push, 12)
    ticket = world.enter(world.kafka, "as Kafka")
    ticket.move(world.push, lambda: world.dropped.append("as push"))
    assert (world.kafka.open_count, world.push.open_count, world.admission.open_count) == (0, 13, 13)
    world.now += 35  # over Kafka's time, not over that of push
    asyncio.run(world.admission.sweep())
    assert world.dropped == []
    world.now += 10
    asyncio.run(world.admission.sweep())
    assert world.dropped == ["as push"]
    assert world.admission.open_count == 12


def test_an_address_has_a_limit_over_all_doors() -> None:
    world = World(per_address_max=2)
    (ticket,) = world.speak(world.kafka, 1)
    world.speak(world.http, 1)
    assert world.come(world.push) is Refusal.ADDRESS
    world.enter(world.push, host="192.0.2.2")
    ticket.release()
    world.enter(world.push)


def test_at_the_limit_of_an_address_one_of_its_own_silent_connections_gives_way() -> None:
    world = World(per_address_max=2)
    world.enter(world.http, "of another address", host="192.0.2.2")
    world.enter(world.http, "silent")
    world.speak(world.kafka, 1)
    world.speak(world.push, 1)
    assert world.dropped == ["silent"]
    assert world.come(world.push) is Refusal.ADDRESS


def test_new_connections_of_an_address_have_a_rate_over_all_doors() -> None:
    world = World(connections_max=1_000, rate=5)
    for number in range(10):
        world.enter((world.kafka, world.push, world.http)[number % 3]).release()
    assert world.come(world.kafka) is Refusal.RATE
    world.enter(world.kafka, host="192.0.2.2")
    world.now += 0.2
    world.enter(world.http)
    assert world.come(world.http) is Refusal.RATE
    assert world.http.refused == {"rate": 1}


@pytest.mark.parametrize("host", ["", "127.0.0.1", "127.9.9.9", "::1"])
def test_clients_on_the_same_machine_have_no_rate(host: str) -> None:
    world = World(connections_max=1_000, rate=1)
    for _ in range(100):
        world.enter(world.kafka, host=host)


def test_addresses_that_connect_no_more_are_forgotten() -> None:
    rates = AddressRates(per_second=1)
    for number in range(SWEPT_FROM):
        assert rates.take(f"192.0.2.{number}", 0.0)
    assert rates.take("198.51.100.1", 10.0)
    assert rates.take("198.51.100.2", 10.0)
    assert len(rates._buckets) <= 2


# --- principals with very many connections ---------------------------------------------------------------------------


def test_a_principal_with_most_connections_gives_way_for_the_logins_of_others() -> None:
    world = World(connections_max=64)
    for number in range(100):
        world.log_in(world.kafka, f"few {number}", "few")
    assert world.kafka.open_count == 63  # one place is kept for HTTP
    world.dropped.clear()
    for number in range(20):
        world.log_in(world.kafka, "other", f"other {number}")
    assert len(world.dropped) == 20
    assert all(name.startswith("few ") for name in world.dropped)
    assert world.admission.open_count == 63


def test_the_connections_that_were_idle_for_longest_give_way_first() -> None:
    world = World(connections_max=64)
    used = {f"few {number}": float(number) for number in range(63)}
    used["few 7"], used["few 9"] = 0.5, 0.25
    for name in used:
        world.log_in(world.kafka, name, "few", last_used=lambda name=name: used[name])  # type: ignore[misc]
    assert world.dropped == []
    for number in range(6):
        world.log_in(world.kafka, "other", f"other {number}")
    # The first of those that came when all but the places kept free were settled; from then on one for each login.
    assert world.dropped == ["few 59", "few 0", "few 9", "few 7", "few 1", "few 2"]


def test_strangers_never_push_out_more_than_the_places_that_are_kept_free() -> None:
    world = World(connections_max=64)
    for number in range(63):
        world.log_in(world.kafka, f"few {number}", "few")
    for _ in range(10):
        strangers = [world.enter(world.kafka, "stranger") for _ in range(100)]
        for stranger in strangers:
            stranger.release()
    assert len([name for name in world.dropped if name.startswith("few ")]) == 4
    world.dropped.clear()
    for number in range(63, 67):
        world.log_in(world.kafka, f"few {number}", "few")
    for _ in range(100):
        world.enter(world.kafka, "stranger")
    assert {name for name in world.dropped if name.startswith("few ")} == {f"few {number}" for number in range(63, 67)}


def test_the_only_principal_may_have_all_connections() -> None:
    world = World(connections_max=64)
    tickets = [world.log_in(world.kafka, "few", "few") for _ in range(63)]
    assert world.dropped == []
    assert world.kafka.loose_count == 4
    for ticket in tickets[:31]:
        ticket.release()
    assert world.kafka.loose_count == 0  # it has half of all


def test_two_principals_with_half_of_all_each_do_not_give_way() -> None:
    world = World(connections_max=64)
    for number in range(63):
        world.log_in(world.kafka, "client", ("one", "two")[number % 2])
    assert world.come(world.kafka) is Refusal.TOTAL
    assert world.dropped == []


def test_where_clients_do_not_log_in_nobody_gives_way() -> None:
    world = World(connections_max=64)
    world.speak(world.kafka, 63)
    assert world.come(world.kafka) is Refusal.TOTAL
    assert world.dropped == []


def test_who_has_logged_in_once_does_not_become_nobody() -> None:
    world = World(connections_max=64)
    ticket = world.log_in(world.http, "web", "few")
    owners = [ticket.owner]
    ticket.confirm()
    owners.append(ticket.owner)
    ticket.confirm("other")
    owners.append(ticket.owner)
    ticket.release()
    assert [*owners, ticket.owner] == ["few", "few", "other", None]


def test_a_ticket_that_was_released_keeps_nothing_alive() -> None:
    class Connection:
        def drop(self) -> None: ...

    world = World()
    connection = Connection()
    seen = weakref.ref(connection)
    gc.disable()
    try:
        ticket = world.kafka.admit("192.0.2.1", connection.drop)
        assert isinstance(ticket, Ticket)
        ticket.confirm()
        del connection
        assert seen() is None
    finally:
        gc.enable()


def test_health_and_metrics_say_that_connections_are_refused() -> None:
    settings = Settings.model_validate({"limits": {"connections_max": 1}})
    doors, metrics, health = build_doors(settings), BrokerMetrics({}), Health()
    connect_admission_probes(doors.admission, metrics, health)
    health.phase = Phase.RUNNING
    assert health.report().ready
    ticket = doors.push.admit("192.0.2.1", lambda: None)
    assert isinstance(ticket, Ticket)
    ticket.confirm()
    assert doors.http.admit("192.0.2.1", lambda: None) is Refusal.TOTAL
    report = health.report()
    assert not report.ready
    assert "limits.connections_max" in report.problems["connections"]
    labels = {"door": "http", "reason": "total"}
    assert metrics.registry.get_sample_value("penstock_connections_refused_total", labels) == 1
    assert metrics.registry.get_sample_value("penstock_door_connections", {"door": "push"}) == 1


@pytest.mark.parametrize(("descriptors", "is_ready"), [(None, True), (20, True), (19, False), (0, False)])
def test_health_says_that_files_are_running_out(
    monkeypatch: pytest.MonkeyPatch, descriptors: int | None, is_ready: bool
) -> None:
    health = Health()
    health.phase = Phase.RUNNING
    monkeypatch.setattr("penstock.node.admission.left", lambda: descriptors)
    connect_admission_probes(build_doors(Settings()).admission, BrokerMetrics({}), health)
    report = health.report()
    assert report.ready is is_ready
    assert is_ready or "ulimit" in report.problems["descriptors"]
