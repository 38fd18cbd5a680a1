"""The client's side of SCRAM against a broker that does not mean well: it is refused, and costs no time."""

from __future__ import annotations

import base64

import pytest

from penstock.client.security.login import LoginRefused, login_steps
from penstock.client.security.properties import ClientSecurity

SALT = base64.b64encode(bytes(16)).decode()


def steps_of(first_answer: str) -> None:
    """The messages of a login whose first answer is this one, with the client's nonce for NONCE."""
    login = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice", "sasl.password": "secret"}
    steps = login_steps(ClientSecurity.of({"security.protocol": "SASL_PLAINTEXT", **login}))
    nonce = next(steps).decode().rpartition("r=")[2]
    steps.send(first_answer.replace("NONCE", nonce).encode("utf-8", "surrogateescape"))


def test_a_right_answer_is_taken() -> None:
    steps_of(f"r=NONCEx,s={SALT},i=4096")


@pytest.mark.parametrize(
    "answer",
    [
        f"r=NONCEx,s={SALT},i=1",
        f"r=NONCEx,s={SALT},i=1000000000",
        f"r=NONCEx,s={SALT},i=" + "9" * 5000,
        f"r=NONCEx,s={SALT},i=-4096",
        f"r=NONCEx,s={SALT},i=many",
        f"r=another,s={SALT},i=4096",
        f"r=NONCE,s={SALT},i=4096",
        "r=NONCEx,s=,i=4096",
        "r=NONCEx,s=!,i=4096",
        f"r=NONCEx,s={SALT}",
        "e=other-error",
        "",
        "x",
        ",,,",
        "\udcff",
    ],
)
def test_wrong_answers_end_the_login(answer: str) -> None:
    with pytest.raises(LoginRefused, match="the broker's side of the login is wrong"):
        steps_of(answer)
