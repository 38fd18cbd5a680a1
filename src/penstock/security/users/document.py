"""Users and tokens as a JSON document, for programs that have no meta.db: a registry, an edge application.

    {"secret": "…", the key of decoys
     "users": {"alice": {"SCRAM-SHA-512": {"iterations": 8192, "salt": "…", "stored_key": "…", "server_key": "…"}}},
     "tokens": [{"id": "…", "principal": "User:alice", "name": "…", "created_ms": 0, "expires_ms": 0, "sha256": "…"}]}

Bytes are in base64. There are no passwords and no words of tokens, but weak passwords can be guessed from it.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from penstock.model.errors import KafkaError
from penstock.model.limits import SCRAM_ITERATIONS_MAX, SCRAM_ITERATIONS_MIN
from penstock.security.principal import Principal
from penstock.security.tokens.token import Token
from penstock.security.users.credential import ScramCredential, ScramMechanism
from penstock.security.users.name import check_user_name

SECRET_BYTES: Final = 32
USERS_MAX: Final = 100_000
_MECHANISMS: Final = {mechanism.title: mechanism for mechanism in ScramMechanism}
Credentials = Mapping[ScramMechanism, ScramCredential]
T = TypeVar("T")


class UsersError(Exception):
    """The text is no such document; the message says where and why, and repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class UsersDocument:
    secret: bytes = field(repr=False)
    users: Mapping[str, Credentials] = field(default_factory=dict)
    tokens: tuple[Token, ...] = ()

    @classmethod
    def new(cls) -> UsersDocument:
        return cls(secrets.token_bytes(SECRET_BYTES))

    def with_user(self, name: str, credentials: Credentials) -> UsersDocument:
        """With a user, whose former credentials are gone; without any the user is, and the user's tokens."""
        users = {other: each for other, each in self.users.items() if other != name}
        if credentials:
            return replace(self, users={**users, name: credentials})
        principal = Principal("User", name)
        return replace(self, users=users, tokens=tuple(each for each in self.tokens if each.principal != principal))

    def with_tokens(self, tokens: tuple[Token, ...]) -> UsersDocument:
        return replace(self, tokens=tokens)


def parse_users(text: bytes) -> UsersDocument:
    """UsersError for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UsersError("not JSON") from None
    members = _members(found, "the file", {"secret", "users", "tokens"})
    users, tokens = members["users"], members["tokens"]
    if not isinstance(users, dict) or not isinstance(tokens, list) or len(users) + len(tokens) > USERS_MAX:
        raise UsersError(f"users is an object and tokens a list, of at most {USERS_MAX} together")
    made = tuple(_token(each, f"tokens[{number}]") for number, each in enumerate(tokens))
    if len({token.token_id for token in made}) < len(made) or len({token.digest for token in made}) < len(made):
        raise UsersError("a token is there twice")
    return UsersDocument(
        _bytes(members["secret"], "secret", SECRET_BYTES),
        {name: _user(name, each, f"users[{number}]") for number, (name, each) in enumerate(users.items())},
        made,
    )


def users_text(document: UsersDocument) -> bytes:
    users = {
        name: {
            mechanism.title: {
                "iterations": each.iterations,
                "salt": _base64(each.salt),
                "stored_key": _base64(each.stored_key),
                "server_key": _base64(each.server_key),
            }
            for mechanism, each in credentials.items()
        }
        for name, credentials in document.users.items()
    }
    tokens = [
        {
            "id": token.token_id,
            "principal": str(token.principal),
            "name": token.name,
            "created_ms": token.created_ms,
            "expires_ms": token.expires_ms,
            "sha256": _base64(token.digest),
        }
        for token in document.tokens
    ]
    return (
        json.dumps({"secret": _base64(document.secret), "users": users, "tokens": tokens}, indent=1) + "\n"
    ).encode()


def _user(name: str, found: object, where: str) -> Credentials:
    try:
        check_user_name(name)
    except (KafkaError, UnicodeEncodeError):
        raise UsersError(f"{where} has a name that no user can have") from None
    if not isinstance(found, dict) or not found or not found.keys() <= _MECHANISMS.keys():
        raise UsersError(f"{where} must have credentials for {' or '.join(_MECHANISMS)}")
    return {_MECHANISMS[title]: _credential(_MECHANISMS[title], each, where) for title, each in found.items()}


def _credential(mechanism: ScramMechanism, found: object, where: str) -> ScramCredential:
    where = f"{where}.{mechanism.title}"
    members = _members(found, where, {"iterations", "salt", "stored_key", "server_key"})
    iterations = _of_type(members["iterations"], int, f"{where}.iterations")
    if not SCRAM_ITERATIONS_MIN <= iterations <= SCRAM_ITERATIONS_MAX:
        raise UsersError(f"{where}.iterations is not between {SCRAM_ITERATIONS_MIN} and {SCRAM_ITERATIONS_MAX}")
    return ScramCredential(
        iterations=iterations,
        salt=_bytes(members["salt"], f"{where}.salt"),
        stored_key=_bytes(members["stored_key"], f"{where}.stored_key", mechanism.digest_bytes),
        server_key=_bytes(members["server_key"], f"{where}.server_key", mechanism.digest_bytes),
    )


def _token(found: object, where: str) -> Token:
    members = _members(found, where, {"id", "principal", "name", "created_ms", "expires_ms", "sha256"})
    kind, colon, name = _of_type(members["principal"], str, f"{where}.principal").partition(":")
    if not kind or not colon or not name:
        raise UsersError(f"{where}.principal is none, such as User:alice")
    return Token(
        token_id=_of_type(members["id"], str, f"{where}.id"),
        principal=Principal(kind, name),
        name=_of_type(members["name"], str, f"{where}.name"),
        created_ms=_of_type(members["created_ms"], int, f"{where}.created_ms"),
        expires_ms=_of_type(members["expires_ms"], int, f"{where}.expires_ms"),
        digest=_bytes(members["sha256"], f"{where}.sha256", 32),
    )


def _members(found: object, where: str, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(found, dict) or found.keys() != names:
        raise UsersError(f"{where} must be an object with {', '.join(sorted(names))}, and nothing else")
    return found


def _of_type(found: object, kind: type[T], where: str) -> T:
    if not isinstance(found, kind) or isinstance(found, bool):
        raise UsersError(f"{where} must be {'a number' if kind is int else 'text'}")
    return found


def _bytes(found: object, where: str, size: int | None = None) -> bytes:
    try:
        content = base64.b64decode(_of_type(found, str, where), validate=True)
    except (binascii.Error, ValueError):
        raise UsersError(f"{where} is not base64") from None
    if not content or (size is not None and len(content) != size):
        raise UsersError(f"{where} has the wrong length")
    return content


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
