"""Clients that guess passwords are held off; those that know theirs are not."""

from __future__ import annotations

import contextlib
import selectors
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from kio.schema.errors import ErrorCode

from tests.support.sasl_client import PLAIN, SaslClient
from tests.support.sasl_process import USERS, SaslProcess

pytestmark = pytest.mark.feature("F-04")

SECONDS = 4.0
GUESSERS = 8


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslProcess]:
    """A broker of its own: whoever fails at an address is remembered."""
    process = SaslProcess(tmp_path_factory.mktemp("guessing"))
    process.prepare()
    process.start()
    yield process
    process.stop()


def test_brute_force_is_held_to_about_one_try_a_second(broker: SaslProcess) -> None:
    """Eight connections that guess all the time; meanwhile a user that has logged in before is not held off."""
    with SaslClient(broker.host, broker.port) as client:
        assert client.scram("bob", USERS["bob"]).error_code == ErrorCode.none
    until = time.monotonic() + SECONDS
    tries: list[float] = []
    started = threading.Barrier(GUESSERS + 1)

    def guess(number: int) -> None:
        started.wait()
        for guessed in range(1_000):
            left = until - time.monotonic()
            if left <= 0:
                return
            with SaslClient(broker.host, broker.port) as client, contextlib.suppress(TimeoutError):
                client.settimeout(left)
                answer = client.plain("alice", f"guess {number} {guessed}")
                assert answer.error_code == ErrorCode.sasl_authentication_failed
                tries.append(time.monotonic())

    with ThreadPoolExecutor(GUESSERS) as pool:
        guessing = [pool.submit(guess, number) for number in range(GUESSERS)]
        started.wait()
        logins = 0
        while time.monotonic() < until:
            with SaslClient(broker.host, broker.port) as client:
                assert client.scram("bob", USERS["bob"]).error_code == ErrorCode.none
                assert client.is_served()
                logins += 1
        for each in guessing:
            each.result()
    # One behind the other, later and later: at 0, 0.1, 0.3, 0.7, 1.5 and 3.1 s.
    assert 0 < len(tries) <= 6, f"{len(tries)} tries in {SECONDS} s"
    assert logins > 2 * len(tries), "a user that knows its password was held off"


def send_guess(broker: SaslProcess, source: str, user: str, password: str) -> SaslClient:
    """A client that has sent its password and has not read the answer."""
    client = SaslClient(broker.host, broker.port, source=source)
    assert client.handshake(PLAIN) == ErrorCode.none
    client.send("sasl_authenticate", 2, auth_bytes=f"\0{user}\0{password}".encode())
    return client


def answered(clients: list[SaslClient], number: int, until: float) -> int:
    """How many have an answer, or the end of their connection, at a time; it is not waited for more than a number."""
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.fileno(), selectors.EVENT_READ)
        found = 0
        while found < number and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                selector.unregister(key.fd)
                found += 1
        return found


def test_a_burst_of_guesses_does_not_get_past_the_pause(broker: SaslProcess) -> None:
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        guesses = [
            stack.enter_context(send_guess(broker, "127.0.0.23", "alice", f"guess {number}")) for number in range(40)
        ]
        # At 0, 0.1, 0.3, 0.7 and 1.5 s at the earliest, whatever the machine; the next one is at 3.1 s.
        assert answered(guesses, 6, began + 3.0) <= 5


def test_a_user_that_has_logged_in_is_not_locked_out_by_guesses_from_its_address(broker: SaslProcess) -> None:
    source = "127.0.0.24"
    with SaslClient(broker.host, broker.port, source=source) as client:
        assert client.scram("alice", USERS["alice"]).error_code == ErrorCode.none
    with contextlib.ExitStack() as stack:
        for number in range(15):
            stack.enter_context(send_guess(broker, source, "alice", f"guess {number}"))
        with SaslClient(broker.host, broker.port, source=source, timeout_s=60) as client:
            assert client.scram("alice", USERS["alice"]).error_code == ErrorCode.none
            assert client.is_served()


def refused_in_s(broker: SaslProcess, source: str, user: str) -> float:
    """The time of the answer to a wrong password."""
    with SaslClient(broker.host, broker.port, source=source, timeout_s=60) as client:
        assert client.handshake(PLAIN) == ErrorCode.none
        began = time.monotonic()
        answer = client.authenticate(f"\0{user}\0wrong".encode())
        assert answer.error_code == ErrorCode.sasl_authentication_failed
        return time.monotonic() - began


def fail_ten_times(broker: SaslProcess, source: str) -> None:
    """Use up what an address has free."""
    with ThreadPoolExecutor(10) as pool:
        for waited in pool.map(lambda number: refused_in_s(broker, source, f"nobody {number}"), range(10)):
            assert waited < 5


def test_the_time_of_a_refusal_does_not_tell_who_logs_in_from_there(broker: SaslProcess) -> None:
    """After ten failures an address has one answer a second, also for users that have logged in from there."""
    source = "127.0.0.25"
    with SaslClient(broker.host, broker.port, source=source) as client:
        assert client.scram("alice", USERS["alice"]).error_code == ErrorCode.none
    fail_ten_times(broker, source)
    refused_in_s(broker, source, "mallory")
    for user in ("alice", "bob", "mallory-2"):
        waited = refused_in_s(broker, source, user)
        assert waited > 0.7, f"{user}: one that is welcome, one that is not, and a name that is none"
    with SaslClient(broker.host, broker.port, source=source) as client:
        began = time.monotonic()
        assert client.scram("alice", USERS["alice"]).error_code == ErrorCode.none
        assert time.monotonic() - began < 0.7, "the right password waits for nobody"
