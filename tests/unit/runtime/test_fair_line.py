"""The line in front of the record worker: owners take turns."""

from __future__ import annotations

import asyncio

from penstock.runtime.fair_line import FairLine


def test_owners_take_turns() -> None:
    async def test() -> None:
        line, done = FairLine(1), list[str]()

        async def work(owner: str, number: int) -> None:
            await line.enter(owner)
            await asyncio.sleep(0)
            done.append(f"{owner}{number}")
            line.leave()

        crowd = [asyncio.create_task(work("a", number)) for number in range(50)]
        await asyncio.sleep(0)
        others = [asyncio.create_task(work(owner, 0)) for owner in "bc"]
        await asyncio.gather(*crowd, *others)
        assert len(done) == 52
        assert {"b0", "c0"} <= set(done[:6])

    asyncio.run(test())


def test_those_who_have_gone_are_passed_over() -> None:
    async def test() -> None:
        line = FairLine(1)
        await line.enter("a")
        gone = [asyncio.create_task(line.enter("a")) for _ in range(3)]
        waits = asyncio.create_task(line.enter("b"))
        await asyncio.sleep(0)
        gone[0].cancel()
        gone[1].cancel()
        line.leave()
        gone[2].cancel()  # it has just had its turn
        await asyncio.wait([waits], timeout=5)
        assert waits.done()
        line.leave()
        await asyncio.wait_for(line.enter("c"), 5)

    asyncio.run(test())
