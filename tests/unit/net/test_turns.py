"""A client that sends much at once: others get their turns, and its answers still leave in order."""

import asyncio

import pytest
import uvloop

from penstock.net.connection import connection
from tests.unit.net.test_connection import served


@pytest.mark.parametrize("word", [b"now", b"later"])
def test_many_requests_at_once_are_served_in_turns(monkeypatch: pytest.MonkeyPatch, word: bytes) -> None:
    monkeypatch.setattr(connection, "TURN_S", 0.0)  # a turn is one request
    texts = [b"%s %d" % (word, number) for number in range(50)]

    async def scenario() -> None:
        async with served() as (service, _, connect):
            client = await connect()
            client.send(*texts)
            seen = set()
            while len(service.seen) < len(texts):
                seen.add(len(service.seen))
                while service.later:
                    pending, text = service.later.pop(0)
                    pending.complete([text])
                await asyncio.sleep(0)
            while service.later:
                pending, text = service.later.pop(0)
                pending.complete([text])
            assert len(seen) > 10, "the loop did other things in between"
            assert [await client.receive() for _ in texts] == texts

    uvloop.run(asyncio.wait_for(scenario(), 10))
