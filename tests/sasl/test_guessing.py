"""Clients that guess passwords are held off; those that know theirs are not."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from kio.schema.errors import ErrorCode

from tests.support.sasl_client import SaslClient
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
    # The first guesses of all connections are checked at once; then one behind the other, later and later.
    assert 0 < len(tries) <= GUESSERS + 5 * SECONDS, f"{len(tries)} tries in {SECONDS} s"
    assert logins > 2 * len(tries), "a user that knows its password was held off"
