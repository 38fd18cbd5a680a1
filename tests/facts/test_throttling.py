"""The effects of quotas, seen from outside: throttle times in answers, and connections that are not read that long.

The window of ten seconds is empty for a new client, so that it may be ten seconds' worth ahead at once (`WINDOW_S`);
it steps by a second, so that what is more than eleven seconds' worth is over the quota however slow the test is. Tests
that wait do so for about a second; others are given such a limit (`TINY`) that the wait outlasts them.
"""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record
from tests.support.broker_process import BrokerProcess
from tests.support.quota_client import CONNECTION, FETCH, MUTATION, PRODUCE, REQUEST, Names, quotas_set, set_quotas
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed, encode_request

pytestmark = pytest.mark.feature("F-01")

WINDOW_S = 10
LIMIT = 90_000
TINY = 1000
EXCEEDED = ErrorCode.throttling_quota_exceeded
NONE = ErrorCode.none

As = Callable[[str | None], RawClient]


@pytest.fixture
def connect_as(broker: BrokerProcess) -> Iterator[As]:
    """Connections by client id."""
    with contextlib.ExitStack() as stack:
        yield lambda client_id: stack.enter_context(RawClient(broker.host, broker.port, client_id=client_id))


def named(name: str) -> Names:
    return (("client-id", name),)


def batch_of(size: int) -> bytes:
    return batches.batch([Record(value=bytes(size))])


def milliseconds(answer: Any) -> int:
    return int(answer.throttle_time.total_seconds() * 1000 + 0.5)


def produce(client: RawClient, topic: str, size: int, *, version: int = 9, acks: int = -1) -> int:
    """One request; the throttle time of its answer."""
    answer = client.call("produce", version, **client.produce_values(topic, batch_of(size), acks=acks))
    assert answer.responses[0].partition_responses[0].error_code == NONE
    return milliseconds(answer)


def request_size(client: RawClient, name: str, topic: str, size: int, version: int = 9) -> int:
    values = client.produce_values(topic, batch_of(size))
    return len(encode_request("produce", version, 1, values, client_id=name))


def is_muted(client: RawClient) -> bool:
    """Whether a request is not answered for some time."""
    client.send("api_versions", 0)
    return client.silent(for_s=0.3)


# ------------------------------------------------------------------------------------------------------------ produce


@pytest.mark.parametrize("version", [3, 9])
def test_a_produce_over_its_quota(client: RawClient, topic: str, connect_as: As, version: int) -> None:
    """It is taken and answered at once, with the time to wait; the connection is not served for that long."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        limited = connect_as(name)
        size = request_size(limited, name, topic, WINDOW_S * LIMIT + 50_000, version)
        started = time.monotonic()
        throttle_ms = produce(limited, topic, WINDOW_S * LIMIT + 50_000, version=version)
        # The rate over ten seconds, less the limit, in times of the limit, over ten seconds.
        assert throttle_ms == int(size * 1000 / LIMIT - WINDOW_S * 1000 + 0.5)
        assert client.log_end(topic) == 1
        limited.call("api_versions", 0)
        assert time.monotonic() - started > throttle_ms / 1000 - 0.01


def test_only_the_connection_over_its_quota_is_muted(client: RawClient, topic: str, connect_as: As) -> None:
    """It is answered at once, however long it is muted then; others do not notice."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: TINY}):
        limited, other = connect_as(name), connect_as(name)
        assert produce(limited, topic, 500_000) > 400_000
        assert is_muted(limited)
        other.call("api_versions", 0)
        assert produce(client, topic, 500_000) == 0
        assert produce(client, topic, 500_000) == 0
        assert is_muted(limited)


def test_within_the_quota(client: RawClient, topic: str, connect_as: As) -> None:
    """Up to ten seconds' worth there is no throttle time and no wait."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        limited = connect_as(name)
        assert produce(limited, topic, 500_000) == 0
        assert produce(limited, topic, 100_000) == 0


def test_connections_of_a_client_share_its_quota(client: RawClient, topic: str, connect_as: As) -> None:
    """Clients share a quota, but each is muted for its own requests only."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        one, other = connect_as(name), connect_as(name)
        assert produce(one, topic, 500_000) == 0
        assert produce(other, topic, 700_000) > 0
        assert is_muted(other)
        one.call("api_versions", 0)


def test_acks_0_over_its_quota(client: RawClient, topic: str, connect_as: As) -> None:
    """Nothing says so, and the connection is muted all the same."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        limited = connect_as(name)
        started = time.monotonic()
        limited.send("produce", 9, **limited.produce_values(topic, batch_of(WINDOW_S * LIMIT + 40_000), acks=0))
        limited.call("api_versions", 0)
        assert time.monotonic() - started > 0.4
        wait_until(lambda: client.log_end(topic) == 1, what="it was taken")


def test_a_muted_connection_is_not_read(client: RawClient, topic: str, connect_as: As) -> None:
    """The client can send no more than the sockets hold."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: TINY}):
        limited = connect_as(name)
        assert produce(limited, topic, 500_000) > 0
        limited.settimeout(0.3)
        with pytest.raises(TimeoutError):
            limited.send_bytes(bytes(100_000_000))


def test_requests_that_are_under_way(client: RawClient, topic: str, connect_as: As) -> None:
    """Requests behind one that is over the quota wait in the line and are answered in order."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        limited = connect_as(name)
        started = time.monotonic()
        first = limited.send("produce", 9, **limited.produce_values(topic, batch_of(WINDOW_S * LIMIT + 50_000)))
        second = limited.send("metadata", 12, topics=[], allow_auto_topic_creation=False)
        third = limited.send("produce", 9, **limited.produce_values(topic, batch_of(100)))
        received, answer = limited.receive("produce", 9)
        assert received == first
        assert milliseconds(answer) > 400
        assert limited.receive("metadata", 12)[0] == second
        assert time.monotonic() - started > 0.4
        assert limited.receive("produce", 9)[0] == third
        assert client.log_end(topic) == 2


def sent_while(client: RawClient, topic: str, seconds: float) -> tuple[int, int]:
    """Send without a pause for so long; the bytes and all throttle times."""
    end = time.monotonic() + seconds
    sent = throttled_ms = 0
    while time.monotonic() < end:
        throttled_ms += produce(client, topic, 30_000)
        sent += 30_000
    return sent, throttled_ms


def test_a_producer_that_never_pauses(client: RawClient, topic: str, connect_as: As) -> None:
    """After what it may be ahead it spends its time waiting; another client does not."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        limited, other = connect_as(name), connect_as(unique_name("free"))
        started = time.monotonic()
        sent = throttled_ms = 0
        while throttled_ms < 2000:
            throttled_ms += produce(limited, topic, 50_000)
            sent += 50_000
            assert produce(other, topic, 50_000) == 0
        limited.call("api_versions", 0)  # the last wait is over
        seconds = time.monotonic() - started
        assert seconds > throttled_ms / 1000 - 0.05
        assert sent < (WINDOW_S + 1 + seconds) * LIMIT


@pytest.mark.slow
def test_the_rate_of_half_a_minute(client: RawClient, topic: str, connect_as: As) -> None:
    """A producer that never pauses gets its rate: not more, but for what it may be ahead, and not less."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{PRODUCE: LIMIT}):
        limited = connect_as(name)
        sent_while(limited, topic, 12.0)
        started = time.monotonic()
        sent, _ = sent_while(limited, topic, 20.0)
        assert sent / (time.monotonic() - started) == pytest.approx(LIMIT, rel=0.15)


# -------------------------------------------------------------------------------------------------------------- fetch


def fetch(client: RawClient, topic: str, **options: Any) -> Any:
    return client.call("fetch", 12, **client.fetch_values(topic, 0, **options))


def fetched_bytes(answer: Any) -> int:
    return sum(len(part.records or b"") for row in answer.responses for part in row.partitions)


@pytest.fixture
def full_topic(client: RawClient, topic: str) -> str:
    client.appended(topic, batch_of(520_000))
    return topic


def test_a_fetch_over_its_quota(client: RawClient, full_topic: str, connect_as: As) -> None:
    """It is answered with nothing but the time to wait; when it may, the client gets the records."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{FETCH: LIMIT}):
        limited = connect_as(name)
        first = fetch(limited, full_topic)
        assert milliseconds(first) == 0
        assert fetched_bytes(first) > 520_000
        second = fetch(limited, full_topic)
        assert milliseconds(second) > 0
        assert (second.error_code, second.session_id, second.responses) == (NONE, 0, ())
        set_quotas(client, named(name), {FETCH: 1e9})
        wait_until(lambda: fetched_bytes(fetch(limited, full_topic)) > 520_000, what="the records come")


def test_sessions_over_their_quota(client: RawClient, full_topic: str, connect_as: As) -> None:
    """A session that is there stays; one that would begin does not."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{FETCH: LIMIT}):
        limited = connect_as(name)
        first = fetch(limited, full_topic, session_epoch=0)
        session = first.session_id
        assert session
        assert fetched_bytes(first) > 520_000
        values = limited.fetch_values(full_topic, 0, session_id=session, session_epoch=1)
        second = limited.call("fetch", 12, **(values | {"topics": []}))
        assert milliseconds(second) > 0
        assert (second.error_code, second.session_id, second.responses) == (NONE, session, ())
        third = limited.call("fetch", 12, **(values | {"topics": [], "session_epoch": 2}))
        assert third.error_code == NONE
        assert third.session_id == session
        other = connect_as(name)
        set_quotas(client, named(name), {FETCH: TINY})
        begun = fetch(other, full_topic, session_epoch=0)
        assert milliseconds(begun) > 0
        assert begun.session_id == 0
        assert begun.responses == ()


def test_no_fetch_is_larger_than_the_window(client: RawClient, topic: str, connect_as: As) -> None:
    """A quota bounds what one answer holds to ten seconds' worth: more could never be sent."""
    for _ in range(30):
        client.appended(topic, batch_of(1000))
    name = unique_name("limited")
    with quotas_set(client, named(name), **{FETCH: TINY}):
        limited = connect_as(name)
        # Kafka's answer of just that size is over the quota at first, by what is around the records.
        size = wait_until(
            lambda: fetched_bytes(fetch(limited, topic, min_bytes=20_000, max_wait=5000)), what="some records come"
        )
        assert 5000 < size <= WINDOW_S * TINY


# ----------------------------------------------------------------------------------------------------------- requests


def test_requests_over_their_quota(client: RawClient, topic: str, connect_as: As) -> None:
    """Every API that takes the broker's time counts, says how long the connection is muted, and at most a second."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{REQUEST: 0.001}):
        limited = connect_as(name)

        throttle_ms = 0
        while not throttle_ms:
            started = time.monotonic()
            throttle_ms = milliseconds(limited.call("metadata", 12, topics=[], allow_auto_topic_creation=False))
        assert throttle_ms <= 1000
        answer = limited.call("api_versions", 3)
        assert time.monotonic() - started > throttle_ms / 1000 - 0.01
        assert 0 < milliseconds(answer) <= 1000
        empty = fetch(connect_as(name), topic)
        assert 0 < milliseconds(empty) <= 1000
        assert empty.responses == ()
        assert 0 < produce(connect_as(name), topic, 10) <= 1000
        heartbeat = connect_as(name).call("heartbeat", 4, group_id="nobody", generation_id=1, member_id="x")
        assert 0 < milliseconds(heartbeat) <= 1000


# --------------------------------------------------------------------------------------------------------- whose quota


def test_precedence(client: RawClient, topic: str, connect_as: As) -> None:
    """The most specific quota counts; the user's come before those of the client id."""
    name, user = unique_name("limited"), "ANONYMOUS"
    over = WINDOW_S * LIMIT + 20_000
    order: list[Names] = [
        (("client-id", None),),
        (("client-id", name),),
        (("user", None),),
        (("client-id", None), ("user", None)),
        (("client-id", name), ("user", None)),
        (("user", user),),
        (("client-id", None), ("user", user)),
        (("client-id", name), ("user", user)),
    ]
    with contextlib.ExitStack() as stack:
        for position, names in enumerate(order):
            # Each time the quota of before is large, and the one before that small: neither counts any more.
            stack.enter_context(quotas_set(client, names, **{PRODUCE: 1e9 if position % 2 else 1e8}))
            if position:
                set_quotas(client, order[position - 1], {PRODUCE: LIMIT if position % 2 else 1e9})
            assert produce(connect_as(name), topic, over) == 0, names
        set_quotas(client, order[-1], {PRODUCE: LIMIT})
        assert produce(connect_as(name), topic, over) > 0


def test_a_default_is_not_shared(client: RawClient, topic: str, connect_as: As) -> None:
    """Each client id has the default for itself; a user's quota is shared by all of his clients."""
    one, other = unique_name("one"), unique_name("other")
    with quotas_set(client, (("client-id", None),), **{PRODUCE: LIMIT}):
        assert produce(connect_as(one), topic, 800_000) == 0
        assert produce(connect_as(other), topic, 800_000) == 0
        assert produce(connect_as(one), topic, 800_000) > 0
    with quotas_set(client, (("user", "ANONYMOUS"),), **{PRODUCE: LIMIT}):
        produce(connect_as(one), topic, 800_000)
        assert produce(connect_as(other), topic, 800_000) > 0


def test_clients_without_an_id(client: RawClient, topic: str, connect_as: As) -> None:
    """Null and empty client ids have no quota by client id, not even the default; the user's counts for them."""
    over = WINDOW_S * LIMIT + 20_000
    with quotas_set(client, (("client-id", None),), **{PRODUCE: LIMIT}):
        assert produce(connect_as(None), topic, over) == 0
        assert produce(connect_as(""), topic, over) == 0
    with quotas_set(client, (("user", None),), **{PRODUCE: LIMIT}):
        assert produce(connect_as(None), topic, over) > 0


def test_a_quota_that_is_changed_and_removed(client: RawClient, topic: str, connect_as: As) -> None:
    """It counts from the next request on, also for connections that are there."""
    name = unique_name("limited")
    limited = connect_as(name)
    assert produce(limited, topic, 900_000) == 0
    with quotas_set(client, named(name), **{PRODUCE: 1e9}):
        assert produce(limited, topic, 900_000) == 0
        set_quotas(client, named(name), {PRODUCE: LIMIT})
        assert produce(limited, topic, 150_000) > 0
    assert produce(limited, topic, 900_000) == 0


# ---------------------------------------------------------------------------------------------------- changes of topics


def create(client: RawClient, partitions: int, *, version: int = 7, validate_only: bool = False) -> tuple[Any, str]:
    name = unique_name()
    wanted = {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
    answer = client.call("create_topics", version, topics=[wanted], timeout=10_000, validate_only=validate_only)
    return answer, name


def test_topics_over_their_quota(client: RawClient, connect_as: As) -> None:
    """Eleven seconds' worth of partitions may be made at once, and one request may go beyond; the next is refused."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{MUTATION: 0.1}):
        limited = connect_as(name)
        made, _ = create(limited, 3)
        assert made.topics[0].error_code == NONE
        assert milliseconds(made) == 0
        refused, _ = create(limited, 1)
        assert refused.topics[0].error_code == EXCEEDED
        assert refused.topics[0].error_message is None
        assert 5000 < milliseconds(refused) <= 19_000  # until there are 1.9 more
        assert is_muted(limited)


@pytest.mark.parametrize("validate_only", [False, True])
def test_what_counts_of_a_creation(client: RawClient, connect_as: As, validate_only: bool) -> None:
    """A creation that is only tried counts, too; one that fails for another reason does not."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{MUTATION: 0.1}):
        limited = connect_as(name)
        assert create(limited, -5)[0].topics[0].error_code == ErrorCode.invalid_partitions
        assert create(limited, 3, validate_only=validate_only)[0].topics[0].error_code == NONE
        assert create(limited, 1, validate_only=validate_only)[0].topics[0].error_code == EXCEEDED


def test_old_versions_over_their_quota(client: RawClient, connect_as: As) -> None:
    """They know no such error: the change is made, and the connection muted."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{MUTATION: 0.1}):
        limited = connect_as(name)
        made, topic = create(limited, 3, version=5)
        assert made.topics[0].error_code == NONE
        assert milliseconds(made) == pytest.approx(19_000, abs=1000)
        assert is_muted(limited)
        client.wait_for_topic(topic, 3)
        grow = {"topics": [{"name": topic, "count": 4, "assignments": None}], "timeout": 10_000}
        grown = connect_as(name).call("create_partitions", 2, **grow)
        assert grown.results[0].error_code == NONE
        assert milliseconds(grown) > 10_000
        client.wait_for_topic(topic, 4)
        deleted = connect_as(name).call("delete_topics", 4, topic_names=[topic], timeout=10_000)
        assert deleted.responses[0].error_code == NONE
        assert milliseconds(deleted) > 30_000


def test_deletions_and_growth_over_their_quota(client: RawClient, connect_as: As) -> None:
    """New versions are refused as creations are."""
    name = unique_name("limited")
    topic = client.create_topic(partitions=2)
    with quotas_set(client, named(name), **{MUTATION: 0.1}):
        create(connect_as(name), 4, validate_only=True)
        grow = {"topics": [{"name": topic, "count": 3, "assignments": None}], "timeout": 10_000}
        grown = connect_as(name).call("create_partitions", 3, **grow)
        assert (grown.results[0].error_code, grown.results[0].error_message) == (EXCEEDED, None)
        assert milliseconds(grown) > 0
        deletion = {"topics": [{"name": topic, "topic_id": None}], "timeout": 10_000}
        deleted = connect_as(name).call("delete_topics", 6, **deletion)
        assert (deleted.responses[0].error_code, deleted.responses[0].error_message) == (EXCEEDED, None)
        assert milliseconds(deleted) > 0
        assert client.metadata(topic).topics[0].error_code == NONE


def test_topics_that_are_made_by_asking_for_them(client: RawClient, connect_as: As) -> None:
    """Over its quota a client that asks for a topic does not get one made, and is not muted for asking."""
    name = unique_name("limited")
    with quotas_set(client, named(name), **{MUTATION: 0.1}):
        create(connect_as(name), 3, validate_only=True)
        limited, topic = connect_as(name), unique_name()
        for _ in range(3):
            answer = limited.metadata(topic, create=True)
            assert answer.topics[0].error_code == ErrorCode.unknown_topic_or_partition
            assert milliseconds(answer) == 0
    wait_until(lambda: limited.metadata(topic, create=True).topics[0].error_code == NONE, what="then it is made")


# -------------------------------------------------------------------------------------- restarts, stops and addresses


def test_quotas_outlive_a_restart(own_broker: BrokerProcess) -> None:
    """They are there and count after a restart."""
    if not own_broker.is_durable:
        pytest.skip("keeps nothing")
    with RawClient(own_broker.host, own_broker.port) as client:
        set_quotas(client, named("lasting"), {PRODUCE: LIMIT})
    own_broker.restart()
    with RawClient(own_broker.host, own_broker.port, client_id="lasting") as client:
        topic = client.create_topic()
        assert produce(client, topic, WINDOW_S * LIMIT + 10_000) > 0
        set_quotas(client, named("lasting"), {PRODUCE: None})


def test_too_many_connections_of_an_address(own_broker: BrokerProcess) -> None:
    """Beyond its rate a connection is not served, and closed within about a second."""
    with RawClient(own_broker.host, own_broker.port) as client, contextlib.ExitStack() as stack:
        names = (("ip", own_broker.host),)
        with quotas_set(client, names, **{CONNECTION: 2}):
            refused = None
            for _ in range(2 * WINDOW_S + 5):
                refused = stack.enter_context(socket.create_connection((own_broker.host, own_broker.port)))
            assert refused is not None
            refused.settimeout(15.0)
            request = encode_request("api_versions", 0, 1, {})
            refused.sendall(len(request).to_bytes(4, "big") + request)
            assert _ends_unanswered(refused)
            client.call("api_versions", 0)  # those that are in stay in
    with RawClient(own_broker.host, own_broker.port) as client:
        client.call("api_versions", 0)


def _ends_unanswered(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_stop_does_not_wait_for_muted_connections(own_broker: BrokerProcess) -> None:
    """A broker stops at once, however long a client has still to wait."""
    with RawClient(own_broker.host, own_broker.port, client_id="patient") as client:
        topic = client.create_topic()
        set_quotas(client, named("patient"), {PRODUCE: TINY})
        assert produce(client, topic, 500_000) > 100_000
        client.send("api_versions", 0)
        started = time.monotonic()
        own_broker.stop()
        assert time.monotonic() - started < 25
        with contextlib.suppress(ConnectionClosed):  # what had been read before is answered, not more
            client.receive("api_versions", 0)
        assert client.closed_by_peer()
