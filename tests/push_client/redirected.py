"""Runs a Python file that speaks to localhost:9999, with that address leading to a broker somewhere else.

    python -m tests.push_client.redirected HOST:PORT FILE

So examples run as they are written, whatever else listens on the default port of this machine. `time` is there without
an import, as in the README, and its first `sleep` makes FILE.asleep: the example has done everything and waits.
"""

import asyncio
import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

create_connection = socket.create_connection
create_on_loop = asyncio.BaseEventLoop.create_connection


def main() -> None:
    host, port = sys.argv[1].rsplit(":", 1)

    def redirected(address: tuple[str, int], *more: Any, **options: Any) -> socket.socket:
        return create_connection((host, int(port)) if address == ("localhost", 9999) else address, *more, **options)

    async def redirected_on_loop(
        loop: asyncio.BaseEventLoop, factory: Any, name: str, number: int, **options: Any
    ) -> Any:
        address = (host, int(port)) if (name, number) == ("localhost", 9999) else (name, number)
        return await create_on_loop(loop, factory, *address, **options)

    socket.create_connection = redirected  # type: ignore[assignment]
    asyncio.BaseEventLoop.create_connection = redirected_on_loop  # type: ignore[assignment,method-assign]
    with open(sys.argv[2], encoding="utf-8") as file:
        code = compile(file.read(), sys.argv[2], "exec")
    exec(code, {"__name__": "__main__", "time": SimpleNamespace(sleep=sleep)})


def sleep(seconds: float) -> None:
    Path(f"{sys.argv[2]}.asleep").touch()
    time.sleep(seconds)


if __name__ == "__main__":
    main()
