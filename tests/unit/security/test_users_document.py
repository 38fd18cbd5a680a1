"""The users file: what is written is read again, anything else is refused as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.secret_file import SecretFileError
from penstock.node.security.users_file import change_users, put_tokens, put_users, read_users
from penstock.security.principal import Principal
from penstock.security.tokens.table import TokenTable
from penstock.security.tokens.token import Token, digest_of
from penstock.security.users.credential import ScramMechanism, make_credential
from penstock.security.users.document import UsersDocument, UsersError, parse_users, users_text
from penstock.security.users.table import UserTable

ALICE = {each: make_credential(each, "secret", 4_096) for each in ScramMechanism}
TOKEN = Token(
    token_id="a1", principal=Principal("User", "alice"), name="x", created_ms=1, expires_ms=2, digest=digest_of(b"w")
)
DOCUMENT = UsersDocument.new().with_user("alice", ALICE).with_tokens((TOKEN,))


def test_what_is_written_is_read_again() -> None:
    text = users_text(DOCUMENT)
    assert parse_users(text) == DOCUMENT
    assert b"secret-" not in text
    assert "stored_key" not in repr(parse_users(text).users)


def test_a_user_who_goes_takes_the_tokens_along() -> None:
    assert DOCUMENT.with_user("alice", {}).tokens == ()
    assert DOCUMENT.with_user("bob", {}).tokens == (TOKEN,)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found.pop("secret"),
        lambda found: found.update(secret="AAAA"),
        lambda found: found.update(more=1),
        lambda found: found.update(users=[]),
        lambda found: found["users"].update({"": found["users"]["alice"]}),
        lambda found: found["users"].update({"a\x00b": found["users"]["alice"]}),
        lambda found: found["users"].update(bob={}),
        lambda found: found["users"]["alice"].update(PLAIN="secret"),
        lambda found: found["users"]["alice"]["SCRAM-SHA-256"].update(iterations=1),
        lambda found: found["users"]["alice"]["SCRAM-SHA-256"].update(iterations=10**9),
        lambda found: found["users"]["alice"]["SCRAM-SHA-256"].update(iterations=True),
        lambda found: found["users"]["alice"]["SCRAM-SHA-256"].update(salt=""),
        lambda found: found["users"]["alice"]["SCRAM-SHA-256"].update(stored_key="AAAA"),
        lambda found: found["tokens"].append(found["tokens"][0]),
        lambda found: found["tokens"][0].update(principal="alice"),
        lambda found: found["tokens"][0].update(sha256="AAAA"),
        lambda found: found["tokens"][0].pop("expires_ms"),
    ],
)
def test_a_mistake_anywhere_refuses_the_whole_file(spoil: Callable[[Any], object]) -> None:
    found = json.loads(users_text(DOCUMENT))
    spoil(found)
    with pytest.raises(UsersError):
        parse_users(json.dumps(found).encode())


@given(st.binary(max_size=200) | st.integers(0, 2_000).map(lambda end: users_text(DOCUMENT)[:-2][:end]))
def test_bytes_that_are_no_users_file_are_refused(text: bytes) -> None:
    with pytest.raises(UsersError):
        parse_users(text)


def test_tables_follow_the_file_and_keep_what_has_not_changed() -> None:
    users, tokens = UserTable(DOCUMENT.secret), TokenTable()
    both = DOCUMENT.with_user("bob", {ScramMechanism.SCRAM_SHA_256: ALICE[ScramMechanism.SCRAM_SHA_256]})
    put_users(users, both)
    put_tokens(tokens, both)
    before, token = users.stored("alice")[ScramMechanism.SCRAM_SHA_512], tokens.get("a1")
    read_again = parse_users(users_text(DOCUMENT))
    put_users(users, read_again)
    put_tokens(tokens, read_again)
    assert set(users) == {"alice"}
    assert users.stored("alice")[ScramMechanism.SCRAM_SHA_512] is before
    assert tokens.get("a1") is token
    put_users(users, UsersDocument.new())
    put_tokens(tokens, UsersDocument.new())
    assert (len(users), len(tokens)) == (0, 0)


def test_the_file_is_for_its_user_only(tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    change_users(path, lambda _: DOCUMENT)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_users(path) == DOCUMENT
    path.chmod(0o640)
    with pytest.raises(SecretFileError, match="chmod 600"):
        read_users(path)
    with pytest.raises(SecretFileError):
        change_users(path, lambda document: document.with_tokens(()))
    path.chmod(0o600)
    assert read_users(path) == DOCUMENT
