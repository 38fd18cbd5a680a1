"""Places that principals share: a greedy one leaves as many as it has, and those who come next find some."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.net.http.bounded import Bounded
from penstock.net.http.session_gate import SessionGate
from penstock.net.http.shares import Shares
from penstock.security.access import Access
from tests.support.name_login import NameLogin

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


def taken(shares: Shares, who: str | None) -> int:
    """As much as there is for one."""
    count = 0
    while shares.take(who):
        count += 1
    return count


def test_nobody_takes_more_than_is_left() -> None:
    shares = Shares(12)
    assert [taken(shares, who) for who in ("bob", "carl", "alice", "bob")] == [6, 3, 2, 0]
    shares.give_back("bob", 6)
    assert taken(shares, "alice") == 3
    assert taken(Shares(12), None) == 12
    assert taken(Shares(1), "bob") == 1
    assert not Shares(12).take("bob", 13)


@given(st.integers(1, 50), st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(1, 9))))
def test_what_is_given_back_can_be_taken_again(total: int, wanted: list[tuple[str | None, int]]) -> None:
    shares = Shares(total)
    had = [(who, amount) for who, amount in wanted if shares.take(who, amount)]
    assert shares.taken == sum(amount for _, amount in had) <= total
    for who, amount in had:
        shares.give_back(who, amount)
    assert shares.taken == 0
    assert taken(shares, "a") == (total + 1) // 2


async def after_its_body(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


class Client:
    """Requests of clients that send their bodies when they are told to."""

    def __init__(self, login: NameLogin | None) -> None:
        self._app = SessionGate(Bounded(after_its_body, 8, "requests"), Access(), login)
        self.sends_bodies = asyncio.Event()
        self.slow: list[asyncio.Task[int]] = []

    async def begin(self, name: str, count: int) -> None:
        self.slow += [asyncio.create_task(self.ask(name, self.sends_bodies)) for _ in range(count)]
        await asyncio.sleep(0)

    async def ask(self, name: str, body: asyncio.Event | None = None) -> int:
        statuses: list[int] = []

        async def receive() -> Message:
            if body is not None:
                await body.wait()
            return {"type": "http.request"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": [(b"authorization", name.encode())],
        }
        await self._app(scope, receive, send)
        return statuses[0]


def test_slow_bodies_of_one_user_do_not_keep_out_another() -> None:
    async def scenario() -> None:
        client = Client(NameLogin())
        await client.begin("bob", 100)
        assert await client.ask("bob") == 503
        assert await client.ask("admin") == 200
        client.sends_bodies.set()
        assert sorted(await asyncio.gather(*client.slow)) == [200] * 4 + [503] * 96
        assert await client.ask("bob") == 200

    asyncio.run(scenario())


def test_a_port_without_logins_has_all_places_for_everybody() -> None:
    async def scenario() -> None:
        client = Client(None)
        await client.begin("bob", 9)
        client.sends_bodies.set()
        assert sorted(await asyncio.gather(*client.slow)) == [200] * 8 + [503]

    asyncio.run(scenario())
