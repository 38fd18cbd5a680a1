"""The machines of PLAIN and SCRAM, step by step and with any bytes at all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient

from penstock.model.limits import SCRAM_MESSAGE_BYTES_MAX, USER_NAME_BYTES_MAX
from penstock.security.sasl.machine import Challenge, Done, Failed, Machine, Step
from penstock.security.sasl.plain import PlainMachine
from penstock.security.sasl.scram import ScramMachine
from penstock.security.users.credential import ScramCredential, ScramMechanism, make_credential
from penstock.security.users.password_cache import ENTRIES_MAX, KEPT_SECONDS, PasswordCache
from penstock.security.users.passwords import StoredPasswords
from penstock.security.users.table import UserTable

SHA_256, SHA_512 = ScramMechanism
LIGATURE = "\ufdfa"
"""Three bytes, of which the normal form of SASLprep makes eighteen characters."""
STEP_SECONDS_MAX = 0.004
"""Ten times what the longest name takes that a user can have, and half of what a message of ligatures would."""
PASSWORD = "pencil \u00e9 =,"


def table_with_alice() -> UserTable:
    table = UserTable(bytes(32))
    for mechanism in ScramMechanism:
        table.put("alice", mechanism, make_credential(mechanism, PASSWORD, 4096))
    return table


TABLE = table_with_alice()


def outcome(step: Step, now: float = 0.0) -> Challenge | Done | Failed:
    """The step, with an attempt checked."""
    return step if isinstance(step, Challenge | Failed) else step.check(now)


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize(("user", "password"), [("alice", PASSWORD), ("alice", "wrong"), ("mallory", PASSWORD)])
def test_scram(mechanism: ScramMechanism, user: str, password: str) -> None:
    machine, client = ScramMachine(mechanism, TABLE), ScramClient([mechanism.title], user, password)
    first = machine.step(client.get_client_first().encode(), 0.0)
    assert isinstance(first, Challenge)
    client.set_server_first(first.message.decode())
    last = outcome(machine.step(client.get_client_final().encode(), 0.0))
    if (user, password) == ("alice", PASSWORD):
        assert isinstance(last, Done)
        assert last.user == "alice"
        client.set_server_final(last.message.decode())
    else:
        assert last == Failed("invalid-proof")
    assert outcome(machine.step(b"", 0.0)) == Failed("a message too many")


def test_names_are_escaped_and_prepared() -> None:
    table = UserTable(bytes(32))
    table.put("a,b=c", SHA_256, make_credential(SHA_256, "x", 4096))
    machine, client = ScramMachine(SHA_256, table), ScramClient(["SCRAM-SHA-256"], "a,b\u00ad=c", "x")
    first = machine.step(client.get_client_first().encode(), 0.0)
    assert isinstance(first, Challenge)
    client.set_server_first(first.message.decode())
    assert isinstance(outcome(machine.step(client.get_client_final().encode(), 0.0)), Done)


def first_step(name: str) -> Step:
    return ScramMachine(SHA_256, TABLE).step(f"n,,n={name},r=nonce".encode(), 0.0)


@pytest.mark.parametrize(
    "name",
    ["x" * (USER_NAME_BYTES_MAX + 1), "\u00e9" * 128, LIGATURE * 9, LIGATURE * 85, LIGATURE * 330, "=2C" * 256],
    ids=["ascii", "two-bytes", "ligatures", "as-long-as-a-name", "message", "escaped"],
)
def test_a_name_that_is_too_long_for_a_user_is_refused(name: str) -> None:
    """A wrong name of any other kind is answered in the same words."""
    assert first_step(name) == Failed("a user name that is too long")


@pytest.mark.parametrize("name", ["x" * USER_NAME_BYTES_MAX, "\u00e9" * 127, LIGATURE * 6, "=2C" * USER_NAME_BYTES_MAX])
def test_a_name_as_long_as_a_user_may_have_is_not_told_from_one(name: str) -> None:
    assert isinstance(first_step(name), Challenge)


@pytest.mark.parametrize("characters", ["x", "\u00e9", "\u05d0", "\u0344", LIGATURE, "=2C", "r=", ",n="])
def test_no_first_message_takes_the_loop_for_long(characters: str) -> None:
    """The quickest of many, on a processor: a busy machine changes nothing."""
    header = "n,,n="
    seconds = []
    for size in (USER_NAME_BYTES_MAX, SCRAM_MESSAGE_BYTES_MAX - len(header) - len(",r=nonce")):
        message = f"{header}{characters * (size // len(characters.encode()))},r=nonce".encode()
        assert len(message) <= SCRAM_MESSAGE_BYTES_MAX
        times = []
        for _ in range(20):
            machine, began = ScramMachine(SHA_256, TABLE), time.thread_time()
            machine.step(message, 0.0)
            times.append(time.thread_time() - began)
        seconds.append(min(times))
    assert max(seconds) < STEP_SECONDS_MAX


def plain(cache: PasswordCache[ScramCredential] | None = None) -> PlainMachine:
    return PlainMachine(StoredPasswords(TABLE, cache or PasswordCache()))


def test_plain_checks_the_password_against_the_same_credentials() -> None:
    cache: PasswordCache[ScramCredential] = PasswordCache()
    right = f"\0alice\0{PASSWORD}".encode()
    attempt = plain(cache).step(right, 0.0)
    assert not isinstance(attempt, Challenge | Failed)
    assert (attempt.user, attempt.is_slow) == ("alice", True)
    assert attempt.remembered(0.0) is None
    assert attempt.check(0.0) == Done("alice")
    again = plain(cache).step(right, 0.0)
    assert not isinstance(again, Challenge | Failed), "it was right a moment ago, and yet it has its turn"
    assert again.remembered(0.0) == Done("alice")
    assert again.remembered(KEPT_SECONDS) is None
    assert isinstance(outcome(plain(cache).step(b"\0alice\0wrong", 0.0)), Failed)
    assert isinstance(outcome(plain(cache).step(f"\0mallory\0{PASSWORD}".encode(), 0.0)), Failed)


def test_an_attempt_knows_that_its_credential_was_replaced() -> None:
    table = UserTable(b"secret")
    table.put("alice", SHA_256, make_credential(SHA_256, PASSWORD, 4096))
    attempt = PlainMachine(StoredPasswords(table, PasswordCache())).step(f"\0alice\0{PASSWORD}".encode(), 0.0)
    assert not isinstance(attempt, Challenge | Failed)
    assert attempt.check(0.0) == Done("alice")
    assert attempt.is_current()
    table.put("alice", SHA_256, make_credential(SHA_256, PASSWORD, 4096))
    assert not attempt.is_current(), "the same password, but another credential"
    table.remove("alice", SHA_256)
    assert not attempt.is_current()


def test_plain_takes_one_message() -> None:
    machine = plain()
    machine.step(b"", 0.0)
    assert machine.step(f"\0alice\0{PASSWORD}".encode(), 0.0) == Failed("a message too many")


def test_a_password_is_remembered_for_a_minute_and_for_its_credential() -> None:
    cache: PasswordCache[ScramCredential] = PasswordCache()
    table = table_with_alice()
    _, credential = table.credential_of_password("alice")
    cache.remember("alice", PASSWORD, credential, 0.0)
    assert cache.find("alice", PASSWORD, KEPT_SECONDS - 0.1) is credential
    assert cache.find("alice", PASSWORD, KEPT_SECONDS) is None
    assert cache.find("alice", "wrong", 0.0) is None
    assert cache.find("bob", PASSWORD, 0.0) is None
    table.put("alice", SHA_512, make_credential(SHA_512, PASSWORD, 4096))
    assert cache.find("alice", PASSWORD, 0.0) is not table.credential_of_password("alice")[1]
    assert PASSWORD.encode() not in repr(vars(cache)).encode()


def test_the_cache_is_bounded() -> None:
    cache: PasswordCache[ScramCredential] = PasswordCache()
    _, credential = TABLE.credential_of_password("alice")
    for number in range(ENTRIES_MAX + 5):
        cache.remember(f"user {number}", "x", credential, 0.0)
    assert cache.find(f"user {ENTRIES_MAX + 4}", "x", 0.0) is credential
    assert cache.find("user 0", "x", 0.0) is None


def machines() -> list[Machine]:
    return [
        plain(),
        *(ScramMachine(mechanism, TABLE) for mechanism in ScramMechanism),
    ]


PIECES = st.sampled_from(
    [b"n,,", b"y,,", b"p=tls-unique,,", b"n=", b"alice", b",r=", b"c=", b"biws", b",p=", b"\0", b","]
)


@given(st.lists(st.lists(PIECES | st.binary(max_size=8), max_size=8).map(b"".join), min_size=1, max_size=3))
def test_no_bytes_break_a_machine_or_log_anybody_in(messages: list[bytes]) -> None:
    for machine in machines():
        for message in messages:
            assert not isinstance(outcome(machine.step(message, 0.0)), Done)
