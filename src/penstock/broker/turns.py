"""Long answers in small steps: everybody else on the event loop gets a turn in between.

An answer over thousands of topics or configs is encoded element by element. `in_turns` gives the loop away whenever
a step has taken a few milliseconds; `array_answer` puts an array of encoded elements into the frame that many
responses share: throttle time, what comes before the array, the array, tagged fields.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

from penstock.broker.call import Call
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.primitives import INT32, write_count

T = TypeVar("T")

STEP_NS = 2_000_000
"""A step may be this long, so that loop lag stays far below 10 ms with several such answers at a time."""


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    started = time.perf_counter_ns()
    for item in items:
        yield item
        if time.perf_counter_ns() - started > STEP_NS:
            await asyncio.sleep(0)
            started = time.perf_counter_ns()


def is_flexible(call: Call) -> bool:
    return call.version >= APIS[call.api_key].flexible


def array_answer(call: Call, elements: Sequence[bytes], *, before: bytes = b"") -> bytes:
    flexible = is_flexible(call)
    pieces = [INT32.pack(0), before, write_count(len(elements), flexible), *elements]
    pieces.append(b"\0" if flexible else b"")
    return b"".join(pieces)
