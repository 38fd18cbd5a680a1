"""When a client may ask and push, and when it is forgotten."""

import uuid

import pytest

from penstock.broker.telemetry.instances import ClientInstance, ClientInstances
from penstock.broker.telemetry.subscriptions import Assignment, Client
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TELEMETRY_CLIENTS_PER_CONNECTION_MAX

pytestmark = pytest.mark.feature("F-01")

CLIENT = Client("id", "c", "s", "1", "h", "1")


def instance(number: int = 11, *, interval_ms: int = 1_000, connection_id: int = 1) -> ClientInstance:
    assignment = Assignment(5, interval_ms, ())
    return ClientInstance(uuid.UUID(int=number), CLIENT, assignment, version=0, connection_id=connection_id)


def code(act: object) -> ErrorCode:
    assert callable(act)
    try:
        act()
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_asking_is_for_once_an_interval() -> None:
    client = instance()
    assert code(lambda: client.accept_get(0)) is ErrorCode.NONE
    assert code(lambda: client.accept_get(999)) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert code(lambda: client.accept_get(1_000)) is ErrorCode.NONE


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE])
def test_a_client_that_was_refused_asks_at_once(error: ErrorCode) -> None:
    client = instance()
    client.accept_get(0)
    client.last_error = error
    assert code(lambda: client.accept_get(1)) is ErrorCode.NONE
    assert code(lambda: client.accept_get(2)) is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_the_first_push_after_asking_is_never_early() -> None:
    client = instance()
    client.accept_get(0)
    assert code(lambda: client.accept_push(1, terminating=False)) is ErrorCode.NONE
    assert code(lambda: client.accept_push(1_000, terminating=False)) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert code(lambda: client.accept_push(1_001, terminating=False)) is ErrorCode.NONE


def test_the_last_push_is_never_early_and_the_last() -> None:
    client = instance()
    client.accept_push(0, terminating=False)
    assert code(lambda: client.accept_push(1, terminating=True)) is ErrorCode.NONE
    client.terminating = True
    assert code(lambda: client.accept_push(9_999, terminating=False)) is ErrorCode.INVALID_REQUEST


def test_the_cache_forgets_who_was_silent_longest() -> None:
    gone: list[int] = []
    cache = ClientInstances(2, lambda left: gone.append(left.instance_id.int))
    for number in (1, 2):
        cache.put(instance(number))
    cache.seen(cache.get(uuid.UUID(int=1)) or instance(), 5)
    cache.put(instance(3))
    assert (gone, len(cache)) == ([2], 2)


def test_instances_go_with_their_connection() -> None:
    gone: list[int] = []
    cache = ClientInstances(10, lambda left: gone.append(left.instance_id.int))
    cache.put(instance(1, connection_id=7))
    cache.put(instance(2, connection_id=7))
    cache.put(instance(3, connection_id=8))
    cache.put(instance(1, connection_id=9))  # the same client, under other subscriptions
    cache.disconnected(7)
    cache.disconnected(7)
    assert (gone, len(cache)) == ([2], 2)
    cache.remove(cache.get(uuid.UUID(int=1)) or instance())
    cache.disconnected(9)
    assert gone == [2, 1]


def test_a_connection_has_room_for_a_few() -> None:
    """Others are not forgotten for it."""
    gone: list[int] = []
    cache = ClientInstances(100, lambda left: gone.append(left.instance_id.int))
    cache.put(instance(1_000, connection_id=8))
    for number in range(TELEMETRY_CLIENTS_PER_CONNECTION_MAX + 2):
        cache.put(instance(number, connection_id=7))
    assert (gone, len(cache)) == ([0, 1], TELEMETRY_CLIENTS_PER_CONNECTION_MAX + 1)
    cache.disconnected(7)
    assert [each.instance_id.int for each in cache] == [1_000]


@pytest.mark.parametrize(("interval_ms", "after_ms"), [(100, 60_000), (300_000, 900_000)])
def test_silence_of_three_intervals_and_a_minute(interval_ms: int, after_ms: int) -> None:
    cache = ClientInstances(10, lambda _: None)
    client = instance(interval_ms=interval_ms)
    cache.put(client)
    cache.seen(client, 0)
    cache.expire(after_ms)
    assert len(cache) == 1
    cache.expire(after_ms + 1)
    assert len(cache) == 0
