"""Death at the n-th call to the outside world, in the middle of a job: nothing happens after it, as with kill -9.

The call itself may have been made (`after=True`) or not. All later calls of the same functions fail, too, so that the
clean-up of a job does not happen either.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Death(BaseException):
    """Death of the process. Not an Exception, so that no handler catches it."""


NETWORK: tuple[tuple[Any, str], ...] = ((socket.socket, "sendmsg"), (socket.socket, "recv_into"))
FILES: tuple[tuple[Any, str], ...] = ((os, "fsync"), (Path, "replace"), (Path, "unlink"))


@contextmanager
def death_at(number: int, calls: tuple[tuple[Any, str], ...], *, after: bool) -> Iterator[None]:
    """Make the n-th call raise `Death` within the block; nothing is raised if there are fewer calls."""
    seen = 0
    is_dead = False

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **values: Any) -> Any:
            nonlocal seen, is_dead
            if is_dead:
                raise Death
            seen += 1
            is_dead = seen == number
            if is_dead and not after:
                raise Death
            result = original(*args, **values)
            if is_dead:
                raise Death
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in calls:
            patch.setattr(owner, name, wrap(getattr(owner, name)))
        yield
