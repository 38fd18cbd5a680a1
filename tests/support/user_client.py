"""Users made and described over the Kafka API, with the credentials that a client would derive."""

from typing import Any

from kio.schema.errors import ErrorCode

from penstock.security.users.credential import ScramMechanism, salted_password
from tests.support.raw_client import RawClient

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
SALT = b"0123456789abcdef"


def upsertion(
    name: str, mechanism: int = SHA_256, *, password: str = "secret", iterations: int = 4096, salt: bytes = SALT
) -> dict[str, Any]:
    known = ScramMechanism(mechanism) if mechanism in tuple(ScramMechanism) else SHA_256
    salted = salted_password(known, password.encode(), salt, min(max(iterations, 1), 16_384))
    return {
        "name": name,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": salt,
        "salted_password": salted,
    }


def deletion(name: str, mechanism: int = SHA_256) -> dict[str, Any]:
    return {"name": name, "mechanism": mechanism}


def alter(client: RawClient, *alterations: dict[str, Any]) -> dict[str, ErrorCode]:
    """The code of each user."""
    answer = client.call(
        "alter_user_scram_credentials",
        0,
        deletions=[each for each in alterations if "salt" not in each],
        upsertions=[each for each in alterations if "salt" in each],
    )
    assert all((each.error_message is None) == (each.error_code == ErrorCode.none) for each in answer.results)
    return {each.user: each.error_code for each in answer.results}


def describe(client: RawClient, *names: str) -> dict[str, ErrorCode | dict[int, int]]:
    """The iterations of each user's mechanisms, or the code."""
    users = [{"name": name} for name in names]
    answer = client.call("describe_user_scram_credentials", 0, users=users)
    assert answer.error_code == ErrorCode.none, answer
    return {
        each.user: each.error_code or {info.mechanism: info.iterations for info in each.credential_infos}
        for each in answer.results
    }
