"""AlterUserScramCredentials, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class ScramCredentialDeletion:
    name: str
    mechanism: int

class ScramCredentialUpsertion:
    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

class AlterUserScramCredentialsRequest:
    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]

class ScramCredentialDeletionValues(TypedDict, total=False):
    name: str
    mechanism: int

class ScramCredentialUpsertionValues(TypedDict, total=False):
    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

class AlterUserScramCredentialsRequestValues(TypedDict, total=False):
    deletions: Sequence[ScramCredentialDeletionValues]
    upsertions: Sequence[ScramCredentialUpsertionValues]
