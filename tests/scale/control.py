"""An event loop that does nothing, in a process of its own: how late it is, the machine is to blame for.

Other work on the machine delays every process now and then. What a broker's loop is late beyond its control is its own.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PROGRAM = """
import asyncio, sys
import uvloop

async def main():
    loop = asyncio.get_running_loop()
    loop.add_reader(0, lambda: loop.stop())
    lags = []
    def fired(due):
        lags.append(loop.time() - due)
        loop.call_at(loop.time() + 0.02, fired, loop.time() + 0.02)
    fired(loop.time())
    try:
        await asyncio.Event().wait()
    finally:
        print(len(lags), sum(lag > 0.01 for lag in lags))

try:
    uvloop.run(main())
except RuntimeError:
    pass
"""


@dataclass(slots=True)
class Control:
    samples: int = 0
    late: int = 0


@contextmanager
def control_loop() -> Iterator[Control]:
    """Filled in at the end."""
    control = Control()
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield control
        output, _ = process.communicate(b"\n", timeout=10)
        control.samples, control.late = map(int, output.split())
    finally:
        process.kill()
        process.wait()
