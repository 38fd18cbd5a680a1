"""Steps of logins: some in each turn of the loop, in their order, and none lost when clients go."""

from __future__ import annotations

import asyncio

from penstock.net.login.login_turns import STEPS_PER_TURN, LoginTurns

CROWD = 5 * STEPS_PER_TURN


async def _counted(turns: LoginTurns, count: int) -> tuple[list[list[int]], list[asyncio.Task[None]]]:
    """The steps that were done in each turn of the loop, and the tasks that do them."""
    done: list[list[int]] = [[]]
    loop = asyncio.get_running_loop()

    def turn() -> None:
        done.append([])
        loop.call_soon(turn)

    async def step(number: int) -> None:
        await turns.take()
        done[-1].append(number)

    tasks = [asyncio.create_task(step(number)) for number in range(count)]
    loop.call_soon(turn)
    return done, tasks


def test_a_crowd_is_spread_over_turns_in_its_order() -> None:
    async def scenario() -> None:
        done, tasks = await _counted(LoginTurns(), CROWD)
        await asyncio.gather(*tasks)
        assert max(map(len, done)) <= STEPS_PER_TURN
        assert [number for turn in done for number in turn] == list(range(CROWD))

    asyncio.run(scenario())


def test_a_few_do_not_wait() -> None:
    async def scenario() -> None:
        turns = LoginTurns()
        for _ in range(3):
            for _ in range(STEPS_PER_TURN):
                waits = turns.take()
                try:
                    waits.send(None)
                except StopIteration:
                    continue
                raise AssertionError("it has to wait")
            await asyncio.sleep(0)

    asyncio.run(scenario())


def test_clients_that_go_take_no_turn() -> None:
    async def scenario() -> None:
        turns = LoginTurns()
        done, tasks = await _counted(turns, CROWD)
        await asyncio.sleep(0)
        assert len(turns) == CROWD - STEPS_PER_TURN
        for task in tasks[STEPS_PER_TURN:-1]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [number for turn in done for number in turn] == [*range(STEPS_PER_TURN), CROWD - 1]
        await asyncio.sleep(0)
        await turns.take()
        assert len(turns) == 0

    asyncio.run(scenario())
