"""Users of one port beside each other: what one of them holds on purpose leaves room for the others."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing

from penstock.topology.pipe.wire import PullRequest, encode_request
from tests.support.waiting import wait_until
from tests.web_login.conftest import Connect
from tests.web_login.secured import PULLS_MAX, WebProcess, login_of


def begun(broker: WebProcess, user: str, length: int) -> socket.socket:
    """A connection on which a pull was begun: its body is missing."""
    context = broker.authority.client_context(None)
    sock = context.wrap_socket(
        socket.create_connection(("127.0.0.1", broker.http_port), 30), server_hostname="127.0.0.1"
    )
    sock.sendall(
        b"POST /pipe/records HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
        b"Authorization: %s\r\nContent-Length: %d\r\n\r\n" % (login_of(user).encode(), length)
    )
    return sock


def test_a_user_without_rights_does_not_hold_all_pulls(broker: WebProcess, connect: Connect) -> None:
    """bob begins as many pulls as there may be, and sends no body: half have a place, the others are refused."""
    question = encode_request(PullRequest(0, 0, 1_000, 10, []))
    with ExitStack() as stack:
        socks = [stack.enter_context(closing(begun(broker, "bob", len(question)))) for _ in range(PULLS_MAX)]
        statuses = [sock.recv(65_536).split()[1] for sock in socks]
        assert sorted(statuses) == [b"100"] * (PULLS_MAX // 2) + [b"503"] * (PULLS_MAX // 2)
        answer = connect().ask("/pipe/records", login_of("admin"), method="POST", body=question)
        assert answer.status == 200
        answer = connect().ask("/pipe/records", login_of("bob"), method="POST", body=question)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert "pipe.pulls_max" in answer.detail

    def is_answered() -> bool:
        return connect().ask("/pipe/records", login_of("bob"), method="POST", body=question).status == 200

    wait_until(is_answered, what="the places of those who have gone are free")
