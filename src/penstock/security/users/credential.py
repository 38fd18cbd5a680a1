"""The SCRAM credential of a user: keys that are derived from a password and from which it cannot be had back.

    salted password   PBKDF2(password, salt, iterations)
    stored key        H(HMAC(salted password, "Client Key")): checks a client's proof
    server key        HMAC(salted password, "Server Key"): proves to the client that the server knows it

Passwords are taken as UTF-8 without SASLprep, as Kafka and its clients take them.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

SALT_BYTES: Final = 64
"""The length that librdkafka chooses, whose users so look like those that are made here and like names of nobody."""


class ScramMechanism(enum.IntEnum):
    """The mechanisms by Kafka's numbers."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def title(self) -> str:
        """The name by which clients ask for it."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def digest_bytes(self) -> int:
        return 32 if self is ScramMechanism.SCRAM_SHA_256 else 64


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """Only the number of iterations is shown: with the rest a password can be guessed offline."""

    iterations: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


def salted_password(mechanism: ScramMechanism, password: bytes, salt: bytes, iterations: int) -> bytes:
    """The slow step, 3 to 16 ms. It releases the interpreter lock."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password, salt, iterations)


def derived_credential(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """The credential of a password that is salted already, as requests have it."""
    return ScramCredential(
        iterations=iterations,
        salt=salt,
        stored_key=stored_key(mechanism, salted),
        server_key=hmac.digest(salted, b"Server Key", mechanism.hash_name),
    )


def stored_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    return hashlib.new(mechanism.hash_name, client_key).digest()


def make_credential(mechanism: ScramMechanism, password: str, iterations: int) -> ScramCredential:
    """The credential of a new password, with a salt of its own."""
    salt = secrets.token_bytes(SALT_BYTES)
    salted = salted_password(mechanism, password.encode(), salt, iterations)
    return derived_credential(mechanism, salted, salt, iterations)
