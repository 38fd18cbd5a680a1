"""The table of users: credentials, and decoys that cannot be told from them."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from scramp import ScramMechanism as Reference

from penstock.model.limits import SCRAM_ITERATIONS_MIN
from penstock.security.users.credential import SALT_BYTES, ScramCredential, ScramMechanism, make_credential
from penstock.security.users.table import UserTable

SHA_256, SHA_512 = ScramMechanism


@pytest.fixture
def table() -> UserTable:
    return UserTable(b"secret" * 6)


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_credential_is_the_one_of_the_rfc(mechanism: ScramMechanism) -> None:
    """RFC 5802, section 3, and the library that checks the logins."""
    made = make_credential(mechanism, "pencil", 4096)
    expected = Reference(mechanism.title).make_auth_info("pencil", iteration_count=4096, salt=made.salt)
    assert (made.salt, made.stored_key, made.server_key, made.iterations) == expected
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, b"pencil", made.salt, 4096)
    assert made.server_key == hmac.digest(salted, b"Server Key", mechanism.hash_name)
    assert len(made.stored_key) == mechanism.digest_bytes


def test_a_credential_shows_no_keys() -> None:
    assert repr(make_credential(SHA_256, "pencil", 4096)) == "ScramCredential(iterations=4096)"


def test_every_password_has_its_own_salt() -> None:
    assert make_credential(SHA_256, "pencil", 4096) != make_credential(SHA_256, "pencil", 4096)


def test_put_replace_and_remove(table: UserTable) -> None:
    first, second = (make_credential(SHA_256, each, 4096) for each in ("a", "b"))
    table.put("alice", SHA_256, first)
    table.put("alice", SHA_256, second)
    assert table.credential("alice", SHA_256) is second
    assert (len(table), list(table), "alice" in table) == (1, ["alice"], True)
    table.remove("alice", SHA_256)
    table.remove("alice", SHA_256)
    assert (len(table), table.stored("alice")) == (0, {})


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_decoy_stays_the_same_and_is_the_names_own(table: UserTable, mechanism: ScramMechanism) -> None:
    decoy = table.credential("mallory", mechanism)
    assert decoy == table.credential("mallory", mechanism) == UserTable(b"secret" * 6).credential("mallory", mechanism)
    assert decoy.salt != table.credential("mallori", mechanism).salt
    assert decoy.salt != UserTable(b"other!" * 6).credential("mallory", mechanism).salt
    assert (decoy.iterations, len(decoy.salt)) == (SCRAM_ITERATIONS_MIN, SALT_BYTES)
    assert len(decoy.stored_key) == len(decoy.server_key) == mechanism.digest_bytes


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_decoy_has_the_form_of_users_that_are_made_with_the_settings(mechanism: ScramMechanism) -> None:
    made, decoy = make_credential(mechanism, "x", 8192), UserTable(bytes(32), 8192).credential("mallory", mechanism)
    assert (made.iterations, len(made.salt)) == (decoy.iterations, len(decoy.salt))


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_decoy_does_not_change_with_the_users(table: UserTable, mechanism: ScramMechanism) -> None:
    """Otherwise a name whose answer stays the same while most users change would be known to be a user's."""
    decoy = table.credential("mallory", mechanism)
    for name, iterations, salt_bytes in (("a", 8192, 64), ("b", 8192, 24), ("c", 16384, 24)):
        table.put(name, mechanism, ScramCredential(iterations, bytes(salt_bytes), b"", b""))
        assert table.credential("mallory", mechanism) == decoy
    table.remove("a", mechanism)
    assert table.credential("mallory", mechanism) == decoy


def test_a_user_without_the_mechanism_is_like_nobody(table: UserTable) -> None:
    table.put("alice", SHA_256, make_credential(SHA_256, "x", 4096))
    assert table.credential("alice", SHA_512) == UserTable(b"secret" * 6).credential("alice", SHA_512)


def test_a_password_is_checked_with_the_work_that_most_users_take(table: UserTable) -> None:
    """The decoy of a password has the mechanism and the iterations of most users."""
    for name in ("a", "b"):
        table.put(name, SHA_256, make_credential(SHA_256, "x", 8192))
    table.put("c", SHA_512, make_credential(SHA_512, "x", 4096))
    assert table.credential_of_password("a") == (SHA_256, table.credential("a", SHA_256))
    mechanism, decoy = table.credential_of_password("mallory")
    assert (mechanism, decoy.iterations) == (SHA_256, 8192)
    table.put("a", SHA_512, make_credential(SHA_512, "x", 4096))
    assert table.credential_of_password("a")[0] is SHA_512
    mechanism, decoy = table.credential_of_password("mallory")
    assert (mechanism, decoy.iterations) == (SHA_512, 4096), "two users of three, whatever else they have"
    for name in "abc":
        for each in ScramMechanism:
            table.remove(name, each)
    mechanism, decoy = table.credential_of_password("mallory")
    assert (mechanism, decoy.iterations) == (SHA_512, SCRAM_ITERATIONS_MIN)
