"""A client's side of SASL: messages to the broker, and what it answers. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Generator

from penstock.client.security.properties import ClientSecurity

Exchange = Callable[[bytes], bytes]
"""Sends a message of the client, and returns the broker's answer to it."""


class LoginRefused(Exception):
    """The broker does not know the user, or does not prove that it knows the password itself."""


def log_in(security: ClientSecurity, exchange: Exchange) -> None:
    """Exchange the messages of the mechanism. LoginRefused if the broker does not prove who it is."""
    steps = login_steps(security)
    message = next(steps)
    while True:
        try:
            message = steps.send(exchange(message))
        except StopIteration:
            return


def login_steps(security: ClientSecurity) -> Generator[bytes, bytes]:
    """The messages of the client, one for each answer that is sent to it; it ends when the login is done."""
    assert security.mechanism is not None
    assert security.username is not None
    assert security.password is not None
    if security.mechanism == "PLAIN":
        yield b"\0".join((b"", security.username.encode(), security.password.encode()))
        return
    from scramp import ScramClient, ScramException

    client = ScramClient([security.mechanism], security.username, security.password)
    try:
        first = yield client.get_client_first().encode()
        client.set_server_first(first.decode())
        final = yield client.get_client_final().encode()
        client.set_server_final(final.decode())
    except (ScramException, UnicodeDecodeError) as error:
        raise LoginRefused(f"the broker's side of the login is wrong: {error}") from None
