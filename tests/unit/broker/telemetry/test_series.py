"""Pushed series over time: sums, gauges that vanish, limits, and clients that leave."""

import uuid

import pytest

from penstock.broker.telemetry.otlp import Point, Push
from penstock.broker.telemetry.series import INFO, SeriesStore
from penstock.broker.telemetry.subscriptions import Client

pytestmark = pytest.mark.feature("F-01")

ONE, OTHER = uuid.UUID(int=11), uuid.UUID(int=12)
LABELS = 'client_instance_id="id",client_id="c"'


def client(name: str | None = "c") -> Client:
    return Client("id", name, "soft", "1.0", "10.0.0.1", "4000")


def store(count_max: int = 100, per_client_max: int = 100, linger_ms: int = 1_000) -> SeriesStore:
    return SeriesStore(count_max=count_max, per_client_max=per_client_max, linger_ms=linger_ms)


def gauge(name: str, value: float, labels: str = "") -> Point:
    return Point(name, labels, False, False, value)


def delta(name: str, value: float, labels: str = "") -> Point:
    return Point(name, labels, True, True, value)


def push(*points: Point, unusable: int = 0, **resource: str) -> Push:
    return Push(list(points), resource, unusable)


def shown(series: SeriesStore) -> dict[str, float]:
    return {f"{s.family}{{{s.labels}}}": s.value for s in series.samples() if s.family != INFO}


def test_deltas_add_up_and_gauges_are_the_latest() -> None:
    series = store()
    series.add(ONE, client(), push(delta("d", 2), gauge("g", 1.0), gauge("old", 1.0)))
    series.add(ONE, client(), push(delta("d", 3), gauge("g", 5.0)))
    assert shown(series) == {f"d{{{LABELS}}}": 5, f"g{{{LABELS}}}": 5.0}
    series.add(ONE, client(), push())
    assert shown(series) == {f"d{{{LABELS}}}": 5}
    assert series.count == 2


def test_cumulative_sums_are_taken_as_they_are() -> None:
    series = store()
    for value in (5, 8):
        series.add(ONE, client(), push(Point("s", "", True, False, value)))
    assert shown(series) == {f"s{{{LABELS}}}": 8}


def test_a_line_stands_only_once() -> None:
    """Also if a client calls two things the same; the later counts."""
    series = store()
    series.add(ONE, client(), push(delta("d", 2), gauge("d", 7), gauge("d", 8)))
    assert shown(series) == {f"d{{{LABELS}}}": 8}


def test_every_client_has_a_line_of_its_own() -> None:
    series = store()
    series.add(ONE, client('a"b'), push(group_id="g", client_software_name="forged"))
    (info,) = series.samples()
    assert info.labels == (
        'client_instance_id="id",client_id="a\\"b",client_software_name="soft",client_software_version="1.0",'
        'client_source_address="10.0.0.1",client_source_port="4000",group_id="g"'
    )
    series.add(OTHER, client("x" * 30_000), push())
    assert max(len(sample.labels) for sample in series.samples()) < 1_000


def test_limits_of_a_client_and_of_all() -> None:
    series = store(count_max=7, per_client_max=3)  # a client's info counts, too
    series.add(ONE, client(), push(*(gauge(f"g{number}", 1) for number in range(10)), unusable=2))
    assert (series.count, series.left_out_total) == (4, 9)
    series.add(OTHER, client(), push(*(delta(f"d{number}", 1) for number in range(10))))
    assert (series.count, series.left_out_total) == (7, 17)
    series.add(OTHER, client(), push(delta("d0", 1), delta("d9", 1)))
    assert (series.count, series.left_out_total) == (7, 18)
    series.add(ONE, client(), push())
    series.add(OTHER, client(), push(delta("d9", 1)))
    assert series.count == 5


def test_series_outlive_their_client_for_a_while() -> None:
    series = store(linger_ms=1_000)
    series.add(ONE, client(), push(delta("d", 1)))
    series.gone(ONE, 10_000)
    series.gone(ONE, 10_900)  # once is enough
    series.expire(10_999)
    assert series.count == 2
    series.expire(11_000)
    assert (series.count, list(series.samples())) == (0, [])


def test_a_client_that_comes_back_goes_on() -> None:
    series = store(linger_ms=1_000)
    series.add(ONE, client(), push(delta("d", 1)))
    series.gone(ONE, 10_000)
    series.add(ONE, client(), push(delta("d", 1)))
    series.expire(20_000)
    assert shown(series) == {f"d{{{LABELS}}}": 2}
    series.gone(OTHER, 1)  # never pushed: nothing to do


def test_clients_without_points_are_bounded_too() -> None:
    series = store(count_max=5)
    clients = [uuid.UUID(int=number) for number in range(100)]
    for one in clients:
        series.add(one, client(), push())
    assert len(list(series.samples())) == series.count == 5
    series.add(OTHER, client(), push(gauge("g", 1.0)))
    assert series.left_out_total == 1
    series.gone(clients[1], now_ms=10)
    series.gone(clients[0], now_ms=20)
    series.add(OTHER, client("new"), push())
    assert series.count == 5
    assert sum('client_id="new"' in sample.labels for sample in series.samples()) == 1
    series.gone(clients[0], now_ms=20)
    series.expire(now_ms=5_000)
    assert series.count == 4
