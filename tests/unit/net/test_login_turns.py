"""Steps of logins: some in each turn of the loop, in their order, and none lost when clients go.

The clock is set by hand: a step that is none of those that take long takes no time.
"""

from __future__ import annotations

import asyncio

from penstock.model.limits import TURN_NS
from penstock.net.login.login_turns import STEPS_PER_TURN, LoginTurns

CROWD = 5 * STEPS_PER_TURN


class Clock:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns


async def _counted(
    turns: LoginTurns, count: int, clock: Clock | None = None, step_ns: int = 0
) -> tuple[list[list[int]], list[asyncio.Task[None]]]:
    """The steps that were done in each turn of the loop, and the tasks that do them."""
    done: list[list[int]] = [[]]
    loop = asyncio.get_running_loop()

    def turn() -> None:
        done.append([])
        loop.call_soon(turn)

    async def step(number: int) -> None:
        await turns.take()
        done[-1].append(number)
        if clock is not None:
            clock.ns += step_ns

    tasks = [asyncio.create_task(step(number)) for number in range(count)]
    loop.call_soon(turn)
    return done, tasks


def test_a_crowd_is_spread_over_turns_in_its_order() -> None:
    async def scenario() -> None:
        done, tasks = await _counted(LoginTurns(Clock()), CROWD)
        await asyncio.gather(*tasks)
        assert max(map(len, done)) <= STEPS_PER_TURN
        assert [number for turn in done for number in turn] == list(range(CROWD))

    asyncio.run(scenario())


def test_steps_that_take_long_have_the_time_of_a_turn_and_keep_their_order() -> None:
    async def scenario(step_ns: int) -> list[list[int]]:
        clock = Clock()
        done, tasks = await _counted(LoginTurns(clock), CROWD, clock, step_ns)
        await asyncio.gather(*tasks)
        assert [number for turn in done for number in turn] == list(range(CROWD))
        return done

    assert max(map(len, asyncio.run(scenario(TURN_NS)))) == 1, "one has its turn, whatever it takes"
    assert max(map(len, asyncio.run(scenario(TURN_NS // 3)))) <= 4


def test_those_that_go_while_the_time_is_over_take_no_turn() -> None:
    async def scenario() -> None:
        clock = Clock()
        turns = LoginTurns(clock)
        done, tasks = await _counted(turns, CROWD, clock, TURN_NS)
        for _ in range(3):
            await asyncio.sleep(0)
        gone = [number for number in range(1, CROWD - 1) if not tasks[number].done()]
        for number in gone:
            tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [number for turn in done for number in turn] == [number for number in range(CROWD) if number not in gone]
        await asyncio.sleep(0)
        await turns.take()
        assert len(turns) == 0

    asyncio.run(scenario())


def test_a_few_do_not_wait() -> None:
    async def scenario() -> None:
        turns = LoginTurns(Clock())
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
        turns = LoginTurns(Clock())
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
